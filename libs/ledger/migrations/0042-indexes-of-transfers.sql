-- Outside a transaction: fewer indexes of transfers, built while transfers are inserted.

-- Transfers on the service's own accounts are read by their transaction only. They have no version.
drop index concurrently if exists transfer_version;
create unique index concurrently transfer_version on transfer (workspace_id, account_id, account_version)
  where account_version is not null;
drop index concurrently if exists transfer_by_id;
create unique index concurrently transfer_by_id on transfer (workspace_id, id) where account_version is not null;
-- Becomes the primary key, which finds the transfers of a transaction.
drop index concurrently if exists transfer_key;
create unique index concurrently transfer_key on transfer (workspace_id, transaction_id, id);
-- Account statements find the last transfer before an instant by the indexes of lists.
drop index concurrently if exists account_transfer_by_time;
