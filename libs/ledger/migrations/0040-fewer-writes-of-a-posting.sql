-- A posting writes less: its references are checked with one query a statement.

-- In the order in which a posting locks them, so that the migration and a posting wait for each other and do not deadlock.
lock table account, transaction, transfer, unverified_transaction in access exclusive mode;

-- A foreign key looks up each row by itself. The verification checks the same references over all rows.
alter table transfer drop constraint transfer_account, drop constraint transfer_transaction;

-- Each row is looked up as a range of one value in the order of the key. For an equality, a plan without statistics may read all rows of
-- the workspace, and the plan stays with the connection. The function has the rights of its caller, so row-level security applies.
create function require_references_of_transfer() returns trigger
  language plpgsql set search_path = banking, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  if exists (
    select from (select distinct workspace_id, account_id, currency_id from fresh) f
    where f.currency_id is distinct from (
      select a.currency_id from account a
      where a.workspace_id = f.workspace_id and a.id >= f.account_id and a.id <= f.account_id order by a.id limit 1)) then
    raise exception 'a transfer needs an account of its workspace and currency'
      using errcode = 'foreign_key_violation', table = 'transfer', constraint = 'transfer_account';
  end if;
  if exists (
    select from (select distinct workspace_id, transaction_id from fresh) f
    where (
      select x.id from transaction x
      where x.workspace_id = f.workspace_id and x.id >= f.transaction_id and x.id <= f.transaction_id order by x.id limit 1) is null) then
    raise exception 'a transfer needs a transaction of its workspace'
      using errcode = 'foreign_key_violation', table = 'transfer', constraint = 'transfer_transaction';
  end if;
  return null;
end $$;
create trigger references_exist after insert on transfer
  referencing new table as fresh for each statement execute function require_references_of_transfer();

-- A row that others refer to is never deleted and keeps its key, for every role. Earlier migrations protect accounts and transactions
-- from deletion, and transactions and transfers from all changes of their keys.
create trigger fixed_key before update of workspace_id, id, currency_id on account for each row
  when ((old.workspace_id, old.id, old.currency_id) is distinct from (new.workspace_id, new.id, new.currency_id))
  execute function refuse_change();

-- One row for each INSERT of transfers names its transactions, instead of one row and one index entry for each transaction. It is
-- written with them and deleted when they are verified. It is read over all workspaces, and holds nothing but ids.
create sequence unverified_posting_id_seq maxvalue 9007199254740991;
create table unverified_posting (
  id bigint primary key default nextval('unverified_posting_id_seq'),
  -- The workspace of each transaction.
  workspace_ids bigint[] not null,
  transaction_ids bigint[] not null,
  check (cardinality(workspace_ids) = cardinality(transaction_ids) and cardinality(transaction_ids) > 0)
);
-- Deleted rows leave dead index entries until a vacuum, as in `work`.
alter table unverified_posting set (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.05, vacuum_truncate = off);

-- `transfer` is locked above, so no transaction is noted in the former table meanwhile.
insert into unverified_posting (workspace_ids, transaction_ids)
select array_agg(workspace_id), array_agg(transaction_id)
from (select workspace_id, transaction_id, (row_number() over (order by workspace_id, transaction_id) - 1) / 500 as part
      from (select distinct workspace_id, transaction_id from unverified_transaction) u) u
group by part order by part;

create or replace function note_unverified() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.transfer'::regclass or tg_op <> 'INSERT' or tg_when <> 'AFTER' or tg_level <> 'STATEMENT' then
    raise exception 'note_unverified runs after an INSERT into transfer only' using errcode = 'BK013';
  end if;
  insert into unverified_posting (workspace_ids, transaction_ids)
  select array_agg(workspace_id), array_agg(transaction_id)
  from (select distinct workspace_id, transaction_id from fresh order by workspace_id, transaction_id) f
  having count(*) > 0;
  return null;
end $$;

drop table unverified_transaction;
grant select, delete on unverified_posting to banking_app;
