-- Run once, by the image of PostgreSQL, in a new database server.
\i /etc/banking/logins.sql
-- In a sandbox, services and `banking demo` simulate a payment network too. Remove both lines for real money.
grant banking_worker, banking_verifier to banking;
grant banking_worker to operator;
\set login banking
\i /etc/banking/login-behind-pooler.sql
\set login worker
\set role banking_worker
\i /etc/banking/login-behind-pooler.sql
