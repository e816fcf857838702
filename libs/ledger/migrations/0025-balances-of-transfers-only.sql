-- The function that moves balances runs for its own table only, and no other role can attach it to a table.

-- Creating a trigger needs EXECUTE on its function, which PostgreSQL grants to PUBLIC by default. Running the trigger needs no right.
-- From here on every function has no such grant, and a function that a role calls has one of its own.
alter default privileges revoke execute on functions from public;
revoke execute on function move_balances(), refuse_change(), step_transaction(), rfc3339(timestamptz) from public;
grant execute on function rfc3339(timestamptz) to banking_app, banking_provisioning;

-- As before, and it refuses every table but transfer: attached to a table of its own, a role would move a balance without a transfer.
create or replace function move_balances() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp set enable_seqscan = off set enable_sort = off as $$
declare
  step record;
  is_same_day boolean;
  has_new_run boolean := false;
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

  for step in
    select workspace_id, account_id,
           min(account_version) as first_version, max(account_version) as last_version, count(*) as legs,
           min(balance_after - moved) as balance_before, max(balance_after - moved) as balance_before_max,
           min(balance_after) as lowest,
           (array_agg(balance_after order by account_version desc))[1] as balance_last,
           (array_agg(id order by account_version desc))[1] as last_id,
           bool_and(type = 'return') as only_returns,
           min(value_date) as value_date, max(value_date) as value_date_max
    from (
      select f.*, x.value_date,
             sum(case f.direction when 'credit' then f.amount else -f.amount end)
                over (partition by f.workspace_id, f.account_id order by f.account_version rows unbounded preceding) as moved
      from fresh f
      left join lateral (select t.value_date from transaction t
                         where t.workspace_id = f.workspace_id and t.id = f.transaction_id offset 0) x on true
      where f.account_version is not null
    ) running
    group by workspace_id, account_id
    order by workspace_id, account_id
  loop
    update account a
    set balance = step.balance_last, version = step.last_version, balance_id = step.last_id, balance_at = statement_timestamp(),
        value_date = case when a.value_date = step.value_date and a.value_date = step.value_date_max then a.value_date end
    where a.workspace_id = step.workspace_id and a.id = step.account_id
      and a.kind = 'customer'
      and a.version = step.first_version - 1
      and step.legs = step.last_version - step.first_version + 1
      and a.balance = step.balance_before and step.balance_before = step.balance_before_max
      and step.lowest >= a.floor
      and (a.status = 'enabled' or step.only_returns)
    returning a.value_date is not null into is_same_day;
    if not found then
      raise exception 'transfer does not continue its account' using errcode = 'BK002';
    end if;
    has_new_run := has_new_run or not is_same_day;
  end loop;

  if exists (
    select from fresh f
    where f.account_version is null
      and not exists (
        select from account a
        where a.workspace_id = f.workspace_id and a.id = f.account_id and a.kind <> 'customer')
  ) then
    raise exception 'transfer does not continue its account' using errcode = 'BK002';
  end if;

  -- The loop has locked every account, so the runs that are read here are the latest.
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
