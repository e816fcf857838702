-- A customer's account is never below zero, and the service's own accounts may be. The rule was a column that an owner of the database could
-- change without a trace: the books then verified as correct.
-- Phase: contract, since 0.1.0

-- As before, and the lowest balance of a customer's account is zero.
create or replace function move_balances() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp
  set enable_seqscan = off set enable_sort = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  accounts_moved bigint;
  accounts_given bigint;
  has_new_run boolean;
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
    select f.*, x.value_date, x.hash,
           sum(case f.direction when 'credit' then f.amount else -f.amount end)
              over (partition by f.workspace_id, f.account_id order by f.account_version rows unbounded preceding) as moved,
           lead(f.id) over (partition by f.workspace_id, f.account_id order by f.account_version) is null as is_last
    from fresh f
    left join lateral (select t.value_date, t.hash from transaction t
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
           bool_and(type = 'return') as only_returns,
           min(value_date) as value_date, max(value_date) as value_date_max
    from running
    group by workspace_id, account_id),
  changed as (
    update account a
    set balance = s.balance_last, version = s.last_version, balance_id = s.last_id, balance_at = s.last_at, head = s.last_hash,
        value_date = case when a.value_date = s.value_date and a.value_date = s.value_date_max then a.value_date end
    from step s
    where a.workspace_id = s.workspace_id and a.id = s.account_id
      and a.kind = 'customer'
      and a.version = s.first_version - 1
      and s.legs = s.last_version - s.first_version + 1
      and a.balance = s.balance_before and s.balance_before = s.balance_before_max
      and s.lowest >= 0
      and (a.status = 'enabled' or s.only_returns)
    returning a.value_date)
  select count(*), (select count(*) from step), coalesce(bool_or(c.value_date is null), false)
  into accounts_moved, accounts_given, has_new_run
  from changed c;
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

  -- The UPDATE has locked every account, so the runs that are read here are the latest.
  if has_new_run then
    with dated as (
      select f.workspace_id, f.account_id, f.account_version, f.balance_after, x.value_date,
             case f.direction when 'credit' then f.amount else -f.amount end as moved,
             lag(x.value_date) over per_account as previous,
             f.account_version = min(f.account_version) over (partition by f.workspace_id, f.account_id) as is_first,
             f.account_version = max(f.account_version) over (partition by f.workspace_id, f.account_id) as is_last
      from fresh f
      left join lateral (select t.value_date from transaction t
                         where t.workspace_id = f.workspace_id and t.id = f.transaction_id offset 0) x on true
      where f.account_version is not null
      window per_account as (partition by f.workspace_id, f.account_id order by f.account_version)),
    compared as (
      select d.*, coalesce(d.previous, k.latest) as before,
             greatest(max(k.highest) over per_account,
                      max(d.value_date) over (per_account rows between unbounded preceding and 1 preceding)) as highest
      from dated d
      left join lateral (
        select (select r.value_date from value_date_run r
                where r.workspace_id = d.workspace_id and r.account_id = d.account_id
                order by r.first_version desc limit 1) as latest,
               (select r.value_date from value_date_run r
                where r.workspace_id = d.workspace_id and r.account_id = d.account_id and r.is_highest
                order by r.value_date desc limit 1) as highest
        where d.is_first offset 0) k on true
      window per_account as (partition by d.workspace_id, d.account_id order by d.account_version)),
    total as (
      insert into back_valued_total as b (workspace_id, account_id, value_date, amount)
      select c.workspace_id, c.account_id, s.value_date, sum(s.amount)
      from compared c cross join lateral (values (c.value_date, c.moved), (c.highest, -c.moved)) s (value_date, amount)
      where c.value_date < c.highest
      group by c.workspace_id, c.account_id, s.value_date
      order by c.workspace_id, c.account_id, s.value_date
      on conflict (workspace_id, account_id, value_date) do update set amount = b.amount + excluded.amount),
    latest as (
      update account a set value_date = c.value_date
      from compared c
      where c.is_last and (c.highest is null or c.value_date >= c.highest)
        and a.workspace_id = c.workspace_id and a.id = c.account_id)
    insert into value_date_run (workspace_id, account_id, first_version, value_date, opening_balance, is_highest)
    select workspace_id, account_id, account_version, value_date, balance_after - moved, highest is null or value_date > highest
    from compared
    where value_date is distinct from before;
  end if;
  return null;
end $$;

-- Drops the check of the former rule too. `not valid` reads no rows: the verification finds a balance from before.
alter table account drop column floor;
alter table account add constraint customer_not_below_zero check (kind <> 'customer' or balance >= 0) not valid;
