-- Transfers and accounts get a note.
-- Phase: expand

alter table account add column note text;
alter table transfer add column note text;
alter table transfer add constraint transfer_note check (char_length(note) <= 140) not valid;
