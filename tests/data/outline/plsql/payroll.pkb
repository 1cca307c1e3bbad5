-- Payroll units of the example company.
set serveroutput on
prompt Don't panic: installing

-- Money helpers.
CREATE OR REPLACE EDITIONABLE PACKAGE hr.payroll AUTHID DEFINER AS
  c_rate CONSTANT NUMBER := 0.19;
  TYPE t_row IS RECORD (id NUMBER, label VARCHAR2(20));
  CURSOR c_open(p_day DATE) IS
    SELECT CASE WHEN amount > 0 THEN 'in' ELSE 'out' END AS direction FROM ledger WHERE day = p_day;
  -- Raises one salary.
  PROCEDURE raise_sal(p_id IN NUMBER, p_by IN OUT NOCOPY NUMBER DEFAULT f(1, 2));
  PROCEDURE raise_sal(p_name VARCHAR2);
  FUNCTION total RETURN NUMBER;
END payroll;
/
show errors

CREATE OR REPLACE PACKAGE BODY hr.payroll IS
  g_text VARCHAR2(100) := q'[PROCEDURE quoted IS BEGIN; it's]' || q'{END;}' || nq'!END payroll;!' || q'<x>';

  /* PROCEDURE commented IS BEGIN NULL; END; */
  PROCEDURE audit(p_text VARCHAR2);

  FUNCTION total RETURN NUMBER IS
    l_sum NUMBER := 0;
    -- Adds up, locally.
    FUNCTION add_up(
      p_a NUMBER,  -- first, with a comma
      p_b NUMBER
    ) RETURN NUMBER
    IS
    BEGIN
      RETURN p_a + p_b;
    END add_up;
  BEGIN
    FOR r IN (SELECT amount FROM ledger) LOOP
      IF r.amount > 0 THEN
        l_sum := add_up(l_sum, CASE WHEN r.amount > 10 THEN 10 ELSE r.amount END);
      ELSIF r.amount = 0 THEN
        BEGIN
          audit('end of ''procedure''');
        EXCEPTION WHEN OTHERS THEN NULL;
        END;
      END IF;
    END LOOP;
    CASE l_sum
      WHEN 0 THEN NULL;
      ELSE audit('END');
    END CASE;
    RETURN l_sum;
  END total;

  PROCEDURE audit(p_text VARCHAR2) AS
    PRAGMA AUTONOMOUS_TRANSACTION;
  BEGIN
    $IF $$debug $THEN dbms_output.put_line(p_text); $END
    INSERT INTO log_lines VALUES (p_text);
    COMMIT;
  END;

  PROCEDURE raise_sal(p_id IN NUMBER, p_by IN OUT NOCOPY NUMBER DEFAULT f(1, 2)) IS
  BEGIN
    NULL;
  END raise_sal;

  PROCEDURE raise_sal(p_name VARCHAR2) IS LANGUAGE JAVA NAME 'Raise.byName(java.lang.String)';

BEGIN
  audit('loaded');
END payroll;
/

CREATE OR REPLACE TRIGGER emp_bi
  BEFORE INSERT OR UPDATE OF sal ON emp
  REFERENCING NEW AS n OLD AS o
  FOR EACH ROW
  WHEN (n.sal > 0)
DECLARE
  l_id NUMBER;
BEGIN
  :n.id := seq.NEXTVAL;
END emp_bi;
/
CREATE TRIGGER emp_compound
  FOR UPDATE ON emp
  COMPOUND TRIGGER
  l_count PLS_INTEGER;
  BEFORE STATEMENT IS
  BEGIN
    l_count := 0;
  END BEFORE STATEMENT;
  AFTER EACH ROW IS
  BEGIN
    l_count := l_count + 1;
  END AFTER EACH ROW;
END emp_compound;
/
CREATE OR REPLACE TYPE money_t AS OBJECT (
  amount NUMBER(12, 2),
  currency VARCHAR2(3),
  MEMBER FUNCTION as_text(p_width NUMBER) RETURN VARCHAR2,
  STATIC PROCEDURE register
) NOT FINAL;
/
CREATE OR REPLACE TYPE BODY money_t AS
  MEMBER FUNCTION as_text(p_width NUMBER) RETURN VARCHAR2 IS
  BEGIN
    RETURN LPAD(TO_CHAR(amount), p_width);
  END;
  STATIC PROCEDURE register IS
  BEGIN
    NULL;
  END register;
END;
/
CREATE TYPE number_list AS TABLE OF NUMBER;
/
CREATE OR REPLACE PROCEDURE "Mixed Case"
(
  p_one IN NUMBER
)
AS
BEGIN
  <<outer_loop>>
  WHILE p_one > 0 LOOP
    EXIT outer_loop WHEN TRUE;
  END LOOP outer_loop;
END "Mixed Case";
/
DECLARE
  PROCEDURE helper IS
  BEGIN
    NULL;
  END;
BEGIN
  helper;
END;
/
GRANT EXECUTE ON hr.payroll TO app;
DROP PROCEDURE old_one;
EXEC hr.payroll.raise_sal('x');
