-- Lists read one index range a page for every filter value, however rare the value is.

-- The columns that lists filter by stand before the time. Their values are few: a list without a filter reads one range for each
-- combination there is, and merges the ranges.
--
-- On tables without statistics PostgreSQL takes two indexes that begin with the workspace for equally good. A partial index can only be
-- chosen by a statement that repeats its condition. So the indexes of one table differ in theirs, and each condition holds for every
-- row that the list may show (transfer: version and balance are null together; customer_order: the amount is greater than zero).

create index transfer_by_class on transfer (workspace_id, type, direction, created_at desc, id desc)
  where account_version is not null;
create index account_transfer_by_class on transfer (workspace_id, account_id, type, direction, created_at desc, id desc)
  where balance_after is not null;
create index recipient_transfer_by_class on transfer (workspace_id, recipient_id, type, direction, created_at desc, id desc)
  where balance_after is not null and recipient_id is not null;
drop index customer_transfer_by_time;
drop index recipient_transfer_by_time;

create index customer_order_by_class on customer_order (workspace_id, status, type, created_at desc, id desc)
  where amount >= 1;
create index account_order_by_class on customer_order (workspace_id, account_id, status, type, created_at desc, id desc)
  where amount > 0;
create index recipient_order_by_class on customer_order (workspace_id, recipient_id, status, type, created_at desc, id desc)
  where amount > 0;
drop index customer_order_by_time;
drop index customer_order_by_account;
drop index customer_order_by_recipient;

create index recipient_by_class on recipient (workspace_id, saved, created_at desc, id desc) where forgotten_at is null;
drop index recipient_by_time;

-- Pending and failed transactions are few beside the completed ones, and a transaction leaves the index when it completes.
create index transaction_not_completed on transaction (workspace_id, status, created_at desc, id desc)
  where status <> 'completed';
