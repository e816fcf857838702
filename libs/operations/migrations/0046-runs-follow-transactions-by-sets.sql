-- The runs of all transactions that get a final status together follow them in one UPDATE.

drop trigger followed on transaction;

-- As before, for all rows of the statement: a run is pending while its transaction is. The plan stays with the connection, so it is one
-- of nested loops, which suits a statement of any size.
create or replace function follow_transaction() returns trigger
  language plpgsql set search_path = banking, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  update execution e set status = n.status,
    failure_code = case when n.status = 'failed' then 'payout_rejected' end,
    failure_message = case when n.status = 'failed' then 'The payout was rejected, and the money has come back.' end
  from stepped n
  where n.status <> 'pending'
    and e.workspace_id = n.workspace_id and e.transaction_id = n.id and e.status = 'pending';
  return null;
end $$;
create trigger followed after update on transaction
  referencing new table as stepped for each statement execute function follow_transaction();
