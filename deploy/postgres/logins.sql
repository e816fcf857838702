-- The logins of a deployment, and its database. Add a login for each further operator as for `operator`: outside a sandbox, what moves money
-- needs two of them. Run it with psql as an administrator of the server, once:
--
--   psql -f logins.sql
--
-- The passwords are read from these files, so that they are in no command line and in no history.
-- Set the psql variable `secrets` to their folder if it is another one: psql -v secrets=/path -f logins.sql
--
--   migrator-password   the deployment job: owns the database, and migrates
--   operator-password   commands of operators: books and directory
--   banking-password    services: customers' instructions and payments
--   worker-password     workers: due work, and the verification of the books
\set ON_ERROR_STOP on
\if :{?secrets}
\else
  \set secrets '/run/secrets'
\endif
\setenv BANKING_SECRETS :secrets
\set migrator_password `cat "$BANKING_SECRETS/migrator-password"`
\set operator_password `cat "$BANKING_SECRETS/operator-password"`
\set banking_password `cat "$BANKING_SECRETS/banking-password"`
\set worker_password `cat "$BANKING_SECRETS/worker-password"`

-- Keeps the passwords out of the log of the server. An administrator without this right looks at the settings first.
\set ON_ERROR_STOP off
set log_statement = 'none';
set log_min_error_statement = 'panic';
set log_min_duration_statement = -1;
\set ON_ERROR_STOP on

-- A connection takes a role on with SET ROLE, and must not have its rights before.
create role migrator login noinherit password :'migrator_password';
create role operator login noinherit password :'operator_password';
create role banking login noinherit password :'banking_password';
create role worker login noinherit password :'worker_password';

-- The migrations create these roles if the login has CREATEROLE. Here it needs no such right.
create role banking_owner nologin;
create role banking_api nologin;
create role banking_worker nologin;
create role banking_verifier nologin;
create role banking_operator nologin;
create role banking_provisioning nologin;
grant banking_owner, banking_api, banking_worker, banking_verifier, banking_operator, banking_provisioning to migrator;
grant banking_operator, banking_provisioning to operator;
grant banking_api to banking;
grant banking_worker, banking_verifier to worker;

create database banking owner migrator;
-- PostgreSQL grants these to every login. A service refuses a database in which it could create schemas or temporary tables.
revoke all on database banking from public;
grant connect on database banking to operator, banking, worker;
