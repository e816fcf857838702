-- Canary: transfers wait while all of them are written again.
-- Phase: expand

alter table transfer alter column amount type numeric;
