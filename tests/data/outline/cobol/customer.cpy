      * Customer record, shared by all programs.
       01  CUSTOMER.
           05  CUST-ID               PIC 9(8).
           05  CUST-ADDRESS.
               10  CUST-STREET       PIC X(30).
               10  CUST-CITY         PIC X(20).
      * Not used since the last release.
               10  CUST-ZIP
                                     PIC X(10).
           05  CUST-ORDERS OCCURS 5 TIMES.
           49  CUST-ORDER-NO         PIC 9(6).
           05  CUST-KIND             PIC X.
               88  CUST-PRIVATE      VALUE "P".
       66  CUST-PLACE RENAMES CUST-STREET THRU CUST-CITY.
      *
