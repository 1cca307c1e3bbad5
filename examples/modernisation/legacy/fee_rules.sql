-- Monthly account fees, as the counters at the branches ask for them.
-- The month-end run (BILLING) computes the same; the two must agree to the cent.
CREATE OR REPLACE PACKAGE fee_rules AS
  c_max_fee CONSTANT NUMBER := 95;

  FUNCTION monthly_fee(
    p_kind    IN VARCHAR2,
    p_balance IN NUMBER,
    p_entries IN PLS_INTEGER
  ) RETURN NUMBER;

  PROCEDURE log_question(p_account IN VARCHAR2, p_fee IN NUMBER);
END fee_rules;
/

CREATE OR REPLACE PACKAGE BODY fee_rules AS
  c_free_balance  CONSTANT NUMBER := 1500;
  c_current_fee   CONSTANT NUMBER := 4.90;
  c_free_entries  CONSTANT PLS_INTEGER := 30;
  c_entry_fee     CONSTANT NUMBER := 0.15;
  c_business_fee  CONSTANT NUMBER := 12.50;
  c_business_entry CONSTANT NUMBER := 0.085;
  c_overdraft_fee CONSTANT NUMBER := 7.50;

  -- Current accounts: a fee unless the balance reaches the free limit, and each entry past the free ones.
  FUNCTION current_fee(p_balance IN NUMBER, p_entries IN PLS_INTEGER) RETURN NUMBER IS
    l_fee NUMBER := 0;
  BEGIN
    IF p_balance < c_free_balance THEN
      l_fee := c_current_fee;
    END IF;
    RETURN l_fee + GREATEST(p_entries - c_free_entries, 0) * c_entry_fee;
  END current_fee;

  -- Business accounts: every entry costs; half a cent is rounded away from zero, as ROUND does.
  FUNCTION business_fee(p_entries IN PLS_INTEGER) RETURN NUMBER IS
  BEGIN
    RETURN ROUND(c_business_fee + p_entries * c_business_entry, 2);
  END business_fee;

  FUNCTION monthly_fee(
    p_kind    IN VARCHAR2,
    p_balance IN NUMBER,
    p_entries IN PLS_INTEGER
  ) RETURN NUMBER IS
    l_fee NUMBER;
  BEGIN
    CASE p_kind
      WHEN 'S' THEN l_fee := 0;
      WHEN 'C' THEN l_fee := current_fee(p_balance, p_entries);
      WHEN 'B' THEN l_fee := business_fee(p_entries);
      ELSE raise_application_error(-20001, 'unknown kind of account: ' || p_kind);
    END CASE;
    IF p_balance < 0 THEN
      l_fee := l_fee + c_overdraft_fee;
    END IF;
    RETURN LEAST(l_fee, c_max_fee);
  END monthly_fee;

  PROCEDURE log_question(p_account IN VARCHAR2, p_fee IN NUMBER) IS
    PRAGMA AUTONOMOUS_TRANSACTION;
  BEGIN
    INSERT INTO fee_questions(account_id, fee, asked_at) VALUES (p_account, p_fee, SYSTIMESTAMP);
    COMMIT;
  END log_question;
END fee_rules;
/
