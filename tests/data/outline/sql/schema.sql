-- Schema of the example shop.

BEGIN;
SET search_path TO shop;

-- People who buy.
CREATE TABLE IF NOT EXISTS shop.customers (
    id          bigint PRIMARY KEY,
    "full name" text NOT NULL DEFAULT 'a, b; c',
    balance     numeric(12, 2) CHECK (balance >= 0),
    CONSTRAINT name_not_empty CHECK (length("full name") > 0),
    UNIQUE (id, balance)
);

CREATE TABLE copied AS SELECT id, balance FROM shop.customers WHERE (id, balance) IN (SELECT 1, 2);
CREATE UNIQUE INDEX CONCURRENTLY customers_name ON shop.customers ("full name");
CREATE OR REPLACE VIEW rich AS
    SELECT * FROM shop.customers WHERE balance > 1000; -- trailing; comment

CREATE OR REPLACE FUNCTION shop.add_up(a integer, b integer) RETURNS integer
LANGUAGE plpgsql AS $body$
BEGIN
    -- CREATE TABLE quoted (x int);
    RETURN a + b;
END;
$body$;

INSERT INTO shop.customers VALUES (1, 'it''s; here', 0);
INSERT INTO shop.customers VALUES (2, 'two', 0);
UPDATE shop.customers SET balance = 1;
ALTER TABLE shop.customers ADD COLUMN note text;
COPY shop.customers (id, balance) FROM stdin;
1	don't parse; this
2	CREATE TABLE no (x int);
\.

CREATE MATERIALIZED VIEW totals AS SELECT sum(balance) FROM shop.customers;
COMMIT;
