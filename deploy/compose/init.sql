-- Run once, by the image of PostgreSQL, in a new database server.
\i /etc/banking/logins.sql
\set login banking
\i /etc/banking/login-behind-pooler.sql
