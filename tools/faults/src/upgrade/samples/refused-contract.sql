-- Canary: accounts lose what every release before 99.0.0 uses.
-- Phase: contract, since 99.0.0

alter table account drop column alias;
