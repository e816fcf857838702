-- A customer's account is never below zero, and the service's own accounts may be. The rule was a column that an owner of the database could
-- change without a trace: the books then verified as correct.
-- The value date of a transaction is the day of its booking, in UTC: every posting used the day of the database. So it is no column, and a
-- statement by value date reads the index of the one by time of booking.
-- Phase: contract, since 0.1.0

-- As before, with zero as the lowest balance of a customer's account, and without runs of value dates.
create or replace function move_balances() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp
  set enable_seqscan = off set enable_sort = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  accounts_moved bigint;
  accounts_given bigint;
begin
  if tg_relid <> 'banking.transfer'::regclass or tg_op <> 'INSERT' or tg_when <> 'AFTER' or tg_level <> 'STATEMENT' then
    raise exception 'move_balances runs after an INSERT into transfer only' using errcode = 'BK013';
  end if;

  if exists (
    select from fresh
    group by workspace_id, transaction_id, currency_id
    having sum(case direction when 'credit' then amount else -amount end) <> 0
  ) then
    raise exception 'unbalanced transaction' using errcode = 'BK001';
  end if;

  with running as (
    select f.*, x.hash,
           sum(case f.direction when 'credit' then f.amount else -f.amount end)
              over (partition by f.workspace_id, f.account_id order by f.account_version rows unbounded preceding) as moved,
           lead(f.id) over (partition by f.workspace_id, f.account_id order by f.account_version) is null as is_last
    from fresh f
    left join lateral (select t.hash from transaction t
                       where t.workspace_id = f.workspace_id and t.id = f.transaction_id offset 0) x on true
    where f.account_version is not null),
  step as (
    select workspace_id, account_id,
           min(account_version) as first_version, max(account_version) as last_version, count(*) as legs,
           min(balance_after - moved) as balance_before, max(balance_after - moved) as balance_before_max,
           min(balance_after) as lowest,
           max(balance_after) filter (where is_last) as balance_last,
           max(id) filter (where is_last) as last_id,
           max(hash) filter (where is_last) as last_hash,
           max(created_at) as last_at,
           bool_and(type = 'return') as only_returns
    from running
    group by workspace_id, account_id),
  changed as (
    update account a
    set balance = s.balance_last, version = s.last_version, balance_id = s.last_id, balance_at = s.last_at, head = s.last_hash
    from step s
    where a.workspace_id = s.workspace_id and a.id = s.account_id
      and a.kind = 'customer'
      and a.version = s.first_version - 1
      and s.legs = s.last_version - s.first_version + 1
      and a.balance = s.balance_before and s.balance_before = s.balance_before_max
      and s.lowest >= 0
      and (a.status = 'enabled' or s.only_returns)
    returning 1)
  select count(*), (select count(*) from step) into accounts_moved, accounts_given from changed;
  if accounts_moved <> accounts_given then
    raise exception 'transfer does not continue its account' using errcode = 'BK002';
  end if;

  -- A range of one value in the order of the key: without statistics, the plan of an equality may read all accounts of the workspace.
  if exists (
    select from (select distinct workspace_id, account_id from fresh where account_version is null) f
    where coalesce((
      select a.kind from account a
      where a.workspace_id = f.workspace_id and a.id >= f.account_id and a.id <= f.account_id order by a.id limit 1), 'customer') = 'customer'
  ) then
    raise exception 'transfer does not continue its account' using errcode = 'BK002';
  end if;
  return null;
end $$;

-- As before, without the value date.
create or replace function step_transaction() returns trigger language plpgsql as $$
begin
  if (old.workspace_id, old.id, old.hash, old.return_of, old.created_at, old.hash_version, old.order_digest, old.conversion_digest)
     is distinct from
     (new.workspace_id, new.id, new.hash, new.return_of, new.created_at, new.hash_version, new.order_digest, new.conversion_digest) then
    raise exception 'transaction is append-only but for its status' using errcode = 'BK003';
  end if;
  if old.status is distinct from new.status and (old.status <> 'pending' or new.status not in ('completed', 'failed')) then
    raise exception 'transaction cannot go from % to %', old.status, new.status using errcode = 'BK004';
  end if;
  return new;
end $$;

drop table value_date_run, back_valued_total;
alter table account drop column value_date;
alter table transaction drop column value_date;
-- Drops the check of the former rule too. `not valid` reads no rows: the verification finds a balance from before.
alter table account drop column floor;
alter table account add constraint customer_not_below_zero check (kind <> 'customer' or balance >= 0) not valid;
