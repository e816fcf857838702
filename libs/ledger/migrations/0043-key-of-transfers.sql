-- The indexes of transfers from the migration before replace those of all transfers, and pages of accounts keep space for updates.

-- No row is read: the columns are not null and the indexes are complete.
alter table transfer
  drop constraint transfer_pkey,
  drop constraint transfer_workspace_id_account_id_account_version_key,
  add constraint transfer_pkey primary key using index transfer_key;
drop index transfer_of_transaction;

-- Every transfer updates its account. With free space on the page, the update writes no index entries, because no index contains a
-- column that it changes.
alter table account set (fillfactor = 50);
