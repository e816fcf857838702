-- Outside a transaction: transfers are inserted while the index is built, and their notes are read.
-- Phase: expand

drop index concurrently if exists transfer_by_note;
create index concurrently transfer_by_note
  on transfer (workspace_id, note, created_at);
alter table transfer validate constraint transfer_note;
