-- Gives a login the settings that a pooler in transaction mode does not keep for a session. Run by an administrator:
-- psql -v login=banking -f libs/postgres/login-behind-pooler.sql
-- psql -v login=worker -v role=banking_worker -f libs/postgres/login-behind-pooler.sql
--
-- session-setup.ts has the reasons. Afterwards, RECONNECT in the console of the pooler.

\if :{?role}
\else
  \set role banking_api
\endif

alter role :"login" set role = :'role';
alter role :"login" set search_path = "banking", pg_temp;
alter role :"login" set statement_timeout = '4000';
alter role :"login" set lock_timeout = '2000';
alter role :"login" set idle_in_transaction_session_timeout = '10000';
alter role :"login" set tcp_user_timeout = '5000';
alter role :"login" set tcp_keepalives_idle = '10';
alter role :"login" set tcp_keepalives_interval = '2';
alter role :"login" set tcp_keepalives_count = '3';
alter role :"login" set client_connection_check_interval = '1000';
alter role :"login" set default_transaction_isolation = 'read committed';
alter role :"login" set timezone = 'UTC';
alter role :"login" set datestyle = 'ISO, MDY';
alter role :"login" set intervalstyle = 'postgres';
alter role :"login" set bytea_output = 'hex';
alter role :"login" set extra_float_digits = '1';
alter role :"login" set standard_conforming_strings = 'on';
alter role :"login" set transform_null_equals = 'off';
alter role :"login" set array_nulls = 'on';
alter role :"login" set row_security = 'on';
alter role :"login" set enable_seqscan = 'off';
alter role :"login" set enable_bitmapscan = 'off';
alter role :"login" set plan_cache_mode = 'force_generic_plan';
alter role :"login" set jit = 'off';
