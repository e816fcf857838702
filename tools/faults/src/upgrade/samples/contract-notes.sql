-- Accounts lose the note that no release from 1.1.0 on uses.
-- Phase: contract, since 1.1.0

alter table account drop column note;
