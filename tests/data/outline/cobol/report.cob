*> A report in free format.
identification division.
program-id. "monthly-report".
data division.
working-storage section.
01 report-line.
   03 customer-name pic x(30). *> as printed
   03 amounts occurs 12 times.
      05 amount pic 9(7)v99.
procedure division.
main-paragraph.
    move "a. b" to customer-name
    perform varying amount from 1 by 1
        until amount > 12
        display
            customer-name.
    end-perform.
    perform print-line
    exec sql
        select count(*) into :amount from orders
    end-exec.
    stop run.

*> Prints one line.
print-line. display report-line.
last-one.
    goback.
