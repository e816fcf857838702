-- Limits: what may be paid in an order, a day or a month.

create sequence payment_limit_id_seq maxvalue 9007199254740991;
create table payment_limit (
  workspace_id bigint not null,
  -- It stays while the limit is in the list, whatever its value.
  id bigint not null default nextval('payment_limit_id_seq'),
  -- Which orders it counts: all, those of an account, those that holders of a role place together, or those that one user places.
  scope text not null check (scope in ('workspace', 'account', 'role', 'person', 'serviceAccount')),
  account_id bigint,
  role text,
  -- Of a person or a service account. No foreign key: a user is removed at home, and a limit of a former user bounds nothing.
  user_id bigint,
  metric text not null check (metric in ('amount', 'count')),
  per text not null check (per in ('order', 'day', 'month')),
  -- The most that is allowed: minor units of the currency, or a number of orders.
  value bigint not null check (value between 0 and 9007199254740991),
  currency_id integer references currency,
  primary key (workspace_id, id),
  -- What it measures. A list has one limit of each.
  constraint payment_limit_measure unique nulls not distinct (workspace_id, scope, account_id, role, user_id, metric, per, currency_id),
  constraint payment_limit_list foreign key (workspace_id) references limit_list,
  constraint payment_limit_account foreign key (workspace_id, account_id) references account (workspace_id, id),
  check ((account_id is not null) = (scope = 'account') and (role is not null) = (scope = 'role')
    and (user_id is not null) = (scope in ('person', 'serviceAccount'))),
  check ((currency_id is not null) = (metric = 'amount') and (metric = 'amount' or per <> 'order'))
);

-- How much of a limit is used in a day or a month: the sum over the payments of the books, which `verify` compares. A missing row is
-- made of the books, so each may be deleted.
create table limit_use (
  workspace_id bigint not null,
  limit_id bigint not null,
  period_start timestamptz not null,
  period_end timestamptz not null check (period_end > period_start),
  used numeric not null check (used >= 0),
  primary key (workspace_id, limit_id, period_start),
  constraint limit_use_limit foreign key (workspace_id, limit_id) references payment_limit on delete cascade
) with (fillfactor = 50);

-- What the books do not say of a payment that limits count, as it was when the payment was made. The worker deletes old ones.
create table counted_payment (
  workspace_id bigint not null,
  transaction_id bigint not null,
  placed_by bigint,
  -- Of who placed it. Null until the payment is counted, at the end of its database transaction.
  roles text[],
  -- In currencies of limits that the payment neither left in nor arrived in.
  amounts converted_amount[],
  created_at timestamptz not null,
  primary key (workspace_id, transaction_id)
);

create table limit_change (
  workspace_id bigint not null,
  version bigint not null check (version > 0),
  changed_at timestamptz not null default statement_timestamp(),
  -- The user who asked; null for the deployment itself.
  changed_by bigint,
  before jsonb not null,
  after jsonb not null,
  primary key (workspace_id, version),
  constraint limit_change_list foreign key (workspace_id) references limit_list
);

-- The transfers that orders debit, without fees.
create function limited_types() returns text[]
  language sql immutable parallel safe
  return array['internal', 'spot', 'payout'];

-- The payments that limits count and rules are about: what orders debit, without fees. `arriving_amount` is what the amount is worth in the currency that it
-- was converted to, rounded up. The indexes of a time are for queries that say that `account_version` is not null.
create view limited_payment with (security_invoker = true) as
select t.workspace_id, t.transaction_id, t.account_id, t.currency_id, t.amount, t.created_at, x.target_currency_id,
       x.target_amount + div(x.remainder_numerator + x.remainder_denominator - 1, x.remainder_denominator) as arriving_amount,
       p.placed_by, p.roles, p.amounts, t.account_version
from transfer t
join transaction x on x.workspace_id = t.workspace_id and x.id = t.transaction_id
left join counted_payment p on p.workspace_id = t.workspace_id and p.transaction_id = t.transaction_id
where t.direction = 'debit' and t.type = any(limited_types());

-- In a currency that the payment has no amount in, it was made before the limit, and counts nothing.
create function amount_in(currency integer, amounts converted_amount[]) returns numeric
  language sql immutable
  return coalesce((select max(c.amount) from unnest(amounts) c where c.currency_id = currency), 0);

-- What a payment counts towards a limit: nothing if it is not of its scope. Without a query of its own, so that it becomes a part of each
-- query that calls it.
create function counted_amount(payment limited_payment, limits payment_limit) returns numeric
  language sql stable as $$
  select case
    when not case limits.scope
        when 'workspace' then true
        when 'account' then payment.account_id = limits.account_id
        when 'role' then coalesce(limits.role = any(payment.roles), false)
        else coalesce(payment.placed_by = limits.user_id, false) end then 0
    when limits.metric = 'count' then 1
    when payment.currency_id = limits.currency_id then payment.amount
    when payment.target_currency_id = limits.currency_id then payment.arriving_amount
    -- Not left to the query below, which costs more than the rest for each payment.
    when payment.amounts is null then 0
    else amount_in(limits.currency_id, payment.amounts) end
$$;

-- A limit as the service reads it.
create function limit_json(limits payment_limit) returns jsonb
  language sql immutable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', limits.id, 'scope', limits.scope, 'accountId', limits.account_id, 'role', limits.role,
    'userId', limits.user_id, 'metric', limits.metric, 'per', limits.per, 'value', limits.value::text, 'currencyId', limits.currency_id))
$$;

-- The day or month of an instant; none of a limit on each order. It begins where local midnight is, also where clocks skip or repeat it.
create function limit_period(per text, at timestamptz, zone text, out starts timestamptz, out ends timestamptz)
  language sql stable as $$
  select p.starts, p.ends
  from (
    select date_trunc(u.unit, at at time zone zone) as day, ('1 ' || u.unit)::interval as step
    -- Said again, because a planner may compute it for each limit.
    from (select case per when 'month' then 'month' else 'day' end as unit) u) local
  cross join lateral (
    select (local.day + k * local.step) at time zone zone as starts, (local.day + (k + 1) * local.step) at time zone zone as ends
    from unnest(array[0, -1, 1]) k) p
  where per <> 'order' and p.starts <= at and at < p.ends
  limit 1
$$;

-- Every payment and every change of limits takes it before it reads limits: payments together, a change alone. So no payment is between
-- a change and its counters.
create function limit_lock_key(of_workspace bigint) returns bigint
  language sql immutable parallel safe
  return hashtextextended('banking.limits', of_workspace);

-- How much of each limit the payments of a time have used, by the books. Payments of this database transaction are not counted yet. The
-- payments are read once for all limits, whatever a planner expects of a workspace.
create function used_of_limits(of_workspace bigint, ids bigint[], starts timestamptz, ends timestamptz) returns table (id bigint, used numeric)
  language sql stable as $$
  with paid as materialized (
    select p as payment from limited_payment p
    where p.workspace_id = of_workspace and p.created_at >= starts and p.created_at < ends and p.roles is not null
      and p.account_version is not null)
  select l.id, coalesce((select sum(counted_amount(p.payment, l)) from paid p), 0)
  from payment_limit l
  where l.workspace_id = of_workspace and l.id = any(ids)
$$;

-- Makes counters that are missing, and deletes those of earlier periods than the one before. Those of one period together, so that its
-- payments are read once.
create function make_limit_use(of_workspace bigint, at timestamptz) returns void
  language plpgsql set search_path = banking, pg_temp as $$
declare
  missing record;
begin
  for missing in
    select p.starts, p.ends, array_agg(l.id) as ids
    from limit_list m join payment_limit l on l.workspace_id = m.workspace_id and l.per <> 'order'
    cross join lateral limit_period(l.per, at, m.time_zone) p
    where m.workspace_id = of_workspace and not exists (
      select from limit_use u where u.workspace_id = l.workspace_id and u.limit_id = l.id and u.period_start = p.starts)
    group by p.starts, p.ends
  loop
    delete from limit_use u
    where u.workspace_id = of_workspace and u.limit_id = any(missing.ids) and u.period_end < missing.starts;
    insert into limit_use (workspace_id, limit_id, period_start, period_end, used)
    select of_workspace, u.id, missing.starts, missing.ends, u.used
    from used_of_limits(of_workspace, missing.ids, missing.starts, missing.ends) u;
  end loop;
end $$;

-- Locks the limits of workspaces whose payments are noted, in the order of their ids, and returns these workspaces. Their counters follow the time
-- zone of the workspace. If it does not wait, it leaves out those that another session has locked.
create function hold_limits(workspace_ids bigint[], waits boolean) returns bigint[]
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  held bigint[];
  moved bigint[];
begin
  if waits then
    perform pg_advisory_xact_lock_shared(limit_lock_key(w.id)) from (select distinct unnest(workspace_ids) as id order by 1) w;
  else
    workspace_ids := array(
      select w.id from (select distinct unnest(workspace_ids) as id order by 1) w
      where pg_try_advisory_xact_lock_shared(limit_lock_key(w.id)));
  end if;
  if not exists (select from limit_list l where l.workspace_id = any(workspace_ids) and l.noted_from is not null) then
    return '{}';
  end if;
  if waits then
    select array_agg(l.workspace_id) into held
    from (select workspace_id from limit_list
          where workspace_id = any(workspace_ids) and noted_from is not null order by workspace_id for no key update) l;
  else
    select array_agg(l.workspace_id) into held
    from (select workspace_id from limit_list
          where workspace_id = any(workspace_ids) and noted_from is not null order by workspace_id for no key update skip locked) l;
  end if;
  select array_agg(l.workspace_id) into moved
  from limit_list l join workspace w on w.id = l.workspace_id
  where l.workspace_id = any(held) and l.time_zone <> w.time_zone;
  if moved is not null then
    delete from limit_use where workspace_id = any(moved);
    update limit_list l set time_zone = w.time_zone from workspace w where w.id = l.workspace_id and l.workspace_id = any(moved);
  end if;
  return coalesce(held, '{}');
end $$;

/**
 * Locks the limits of workspaces until the end of the database transaction, and returns them with what is used of each, in the periods of the
 * start of the database transaction and of this statement, and with the roles of those who place payments in them: `placers` has one for
 * each id of a workspace, or null. A workspace without limits has no row, and neither has one that another session has locked, unless
 * this one waits.
 */
create function lock_limits(workspace_ids bigint[], placers bigint[], waits boolean) returns table (workspace_id bigint, limits jsonb, roles jsonb)
  language plpgsql security definer set search_path = banking, pg_temp as $$
#variable_conflict use_column
declare
  held bigint[] := hold_limits(workspace_ids, waits);
  one bigint;
begin
  foreach one in array held loop
    perform make_limit_use(one, now());
    perform make_limit_use(one, statement_timestamp());
  end loop;
  return query
    select m.workspace_id,
           jsonb_agg(limit_json(l) || jsonb_build_object('uses', coalesce((
             select jsonb_agg(jsonb_build_object('startsAt', rfc3339(u.period_start), 'endsAt', rfc3339(u.period_end), 'used', u.used::text))
             from limit_use u where u.workspace_id = l.workspace_id and u.limit_id = l.id), '[]')) order by l.id),
           coalesce((
             select jsonb_object_agg(p.placer, array(
               select r.role from workspace_role r where r.workspace_id = m.workspace_id and r.user_id = p.placer))
             from unnest(workspace_ids, placers) p (w, placer) where p.w = m.workspace_id and p.placer is not null), '{}')
    from limit_list m join payment_limit l on l.workspace_id = m.workspace_id
    where m.workspace_id = any(held)
    group by m.workspace_id;
end $$;

/**
 * Counts payments that are about to be committed, and refuses what exceeds a limit. By the limits and the roles of this moment, whatever the
 * caller has decided on.
 */
create function count_payments(workspace_ids bigint[], transaction_ids bigint[]) returns void
  language plpgsql set search_path = banking, pg_temp as $$
declare
  held bigint[] := hold_limits(workspace_ids, true);
  one record;
  exceeded jsonb;
begin
  if held = '{}' then
    return;
  end if;
  for one in
    select distinct x.workspace_id, x.created_at
    from unnest(workspace_ids, transaction_ids) u (w, i)
    cross join lateral (select * from transaction l where l.workspace_id = u.w and l.id = u.i limit 1) x
    where u.w = any(held)
    order by 1, 2
  loop
    perform make_limit_use(one.workspace_id, one.created_at);
  end loop;
  with paid as materialized (
    select row(p.workspace_id, p.transaction_id, p.account_id, p.currency_id, p.amount, p.created_at, p.target_currency_id,
             p.arriving_amount, o.placed_by,
             array(select r.role from workspace_role r where r.workspace_id = p.workspace_id and r.user_id = o.placed_by order by r.role),
             p.amounts, p.account_version)::limited_payment as payment
    from (select distinct w, i from unnest(workspace_ids, transaction_ids) u (w, i) where w = any(held)) u
    cross join lateral (
      select l.* from limited_payment l where l.workspace_id = u.w and l.transaction_id = u.i offset 0) p
    left join lateral execution_of_payment(u.w, u.i) e on true
    left join lateral (select c.placed_by from customer_order c where c.workspace_id = u.w and c.id = e.order_id limit 1) o on true),
  noted as (
    insert into counted_payment (workspace_id, transaction_id, placed_by, roles, created_at)
    select distinct (p.payment).workspace_id, (p.payment).transaction_id, (p.payment).placed_by, (p.payment).roles, (p.payment).created_at
    from paid p
    on conflict (workspace_id, transaction_id) do update set placed_by = excluded.placed_by, roles = excluded.roles),
  measured as materialized (
    select l.id, l.workspace_id, l.per, l.value, counted_amount(p.payment, l) as amount, (p.payment).created_at,
           l.currency_id not in ((p.payment).currency_id, coalesce((p.payment).target_currency_id, (p.payment).currency_id)) and not exists (
             select from unnest((p.payment).amounts) c
             join currency s on s.id = (p.payment).currency_id join currency t on t.id = l.currency_id
             where c.currency_id = l.currency_id and c.rate ~ '^(0|[1-9][0-9]{0,14})([.][0-9]{1,15})?$'
               and c.amount = ceil((p.payment).amount * c.rate::numeric * power(10::numeric, t.decimals - s.decimals))) as is_unconverted
    from paid p join payment_limit l on l.workspace_id = (p.payment).workspace_id),
  counted as (
    update limit_use u set used = u.used + m.amount
    from (
      select m.workspace_id, m.id, p.period_start, max(m.value) as value, sum(m.amount) as amount
      from measured m
      join limit_use p on p.workspace_id = m.workspace_id and p.limit_id = m.id
        and m.created_at >= p.period_start and m.created_at < p.period_end
      where m.per <> 'order' and m.amount > 0 group by 1, 2, 3) m
    where u.workspace_id = m.workspace_id and u.limit_id = m.id and u.period_start = m.period_start
    returning u.workspace_id, u.limit_id, u.used - m.amount as used, u.period_end, u.used > m.value as is_exceeded)
  -- All workspaces, and the first fault.
  select jsonb_build_object('workspaceIds', jsonb_agg(distinct e.workspace_id)) || (array_agg(e.fault))[1] into exceeded
  from (
    select m.workspace_id, '{}'::jsonb as fault from measured m where m.is_unconverted
    union all
    select c.workspace_id, jsonb_build_object('limit', limit_json(l), 'used', c.used::text, 'endsAt', rfc3339(c.period_end))
    from counted c join payment_limit l on l.workspace_id = c.workspace_id and l.id = c.limit_id where c.is_exceeded
    union all
    select m.workspace_id, jsonb_build_object('limit', limit_json(l))
    from measured m join payment_limit l on l.workspace_id = m.workspace_id and l.id = m.id where m.per = 'order' and m.amount > m.value) e;
  if exceeded is not null then
    raise exception 'a payment exceeds a limit' using errcode = 'BK026', detail = exceeded::text;
  end if;
end $$;

-- What every payment must satisfy when it is committed. A row of this table is a posting: one call for a batch.
create function guard_payments() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.unverified_posting'::regclass or tg_op <> 'INSERT' then
    raise exception 'guard_payments runs after an INSERT into unverified_posting only' using errcode = 'BK013';
  end if;
  perform count_payments(new.workspace_ids, new.transaction_ids);
  perform check_approvals(new.workspace_ids, new.transaction_ids);
  return null;
end $$;

create constraint trigger payment_guard after insert on unverified_posting
  deferrable initially deferred for each row execute function guard_payments();

-- A limit as it is in a list, without its id.
create type stored_limit as (
  scope text, account_id bigint, role text, user_id bigint, metric text, per text, value bigint, currency_id integer);

create function limits_of(of_workspace bigint) returns stored_limit[]
  language sql stable as $$
  select coalesce(array_agg((l.scope, l.account_id, l.role, l.user_id, l.metric, l.per, l.value, l.currency_id)::stored_limit order by l.id), '{}')
  from payment_limit l where l.workspace_id = of_workspace
$$;

-- Whether a list allows what another one does not: a limit of it is missing, or has a higher value.
create function are_limits_raised(before stored_limit[], after stored_limit[]) returns boolean
  language sql immutable as $$
  select exists (
    select from unnest(before) b
    where not exists (
      select from unnest(after) a
      where (a.scope, a.account_id, a.role, a.user_id, a.metric, a.per, a.currency_id)
          is not distinct from (b.scope, b.account_id, b.role, b.user_id, b.metric, b.per, b.currency_id)
        and a.value <= b.value))
$$;

/**
 * Notes payments of before the first limit, the latest first, and at most so many beside those of one instant. Returns whether none is left
 * that a counter needs. The first call only has payments noted when they are committed. Each call is a database transaction of its own, so
 * that payments do not wait while others are read. A caller repeats it until it is done; after a crash, anyone goes on.
 */
create function note_payments(of_workspace bigint, from_version bigint, rows_max integer) returns boolean
  language plpgsql security definer set search_path = banking, pg_temp
  -- The payments of a time come in its order from their index, whatever a planner expects of a workspace.
  set enable_sort = off as $$
declare
  list limit_list;
  -- A month, wherever it begins.
  needed_from constant timestamptz := statement_timestamp() - interval '33 days';
  batch_from timestamptz;
begin
  select * into list from limit_list l where l.workspace_id = of_workspace;
  -- The replacement of another version is refused.
  if coalesce(list.version, 0) <> from_version or list.noted_from = '-infinity' then
    return true;
  end if;
  if list.noted_from is null then
    -- No payment is between: those of before are committed, and those after it find the row.
    perform pg_advisory_xact_lock(limit_lock_key(of_workspace));
    insert into limit_list (workspace_id, version, limit_count, currency_ids, time_zone, noted_from)
    select of_workspace, 0, 0, '{}', w.time_zone, 'infinity' from workspace w where w.id = of_workspace
    on conflict (workspace_id) do update set noted_from = excluded.noted_from where limit_list.noted_from is null;
    return false;
  end if;
  select t.created_at into batch_from
  from unnest(limited_types()) k (type)
  cross join lateral (
    select t.created_at from transfer t
    where t.workspace_id = of_workspace and t.type = k.type and t.direction = 'debit' and t.account_version is not null
      and t.created_at > needed_from and t.created_at < list.noted_from
    order by t.created_at desc limit rows_max) t
  order by t.created_at desc offset rows_max - 1 limit 1;
  with paid as materialized (
    select distinct t.transaction_id, t.created_at, o.placed_by
    from unnest(limited_types()) k (type)
    cross join lateral (
      select t.transaction_id, t.created_at from transfer t
      where t.workspace_id = of_workspace and t.type = k.type and t.direction = 'debit' and t.account_version is not null
        and t.created_at >= coalesce(batch_from, needed_from) and t.created_at < list.noted_from
      order by t.created_at) t
    left join lateral execution_of_payment(of_workspace, t.transaction_id) e on true
    left join lateral (
      select c.placed_by from customer_order c where c.workspace_id = of_workspace and c.id = e.order_id limit 1) o on true),
  placer as materialized (
    select u.placed_by, array(
      select r.role from workspace_role r where r.workspace_id = of_workspace and r.user_id = u.placed_by order by r.role) as roles
    from (select distinct placed_by from paid) u)
  insert into counted_payment (workspace_id, transaction_id, placed_by, roles, created_at)
  select of_workspace, p.transaction_id, p.placed_by, coalesce(u.roles, '{}'), p.created_at
  from paid p left join placer u on u.placed_by = p.placed_by
  on conflict (workspace_id, transaction_id) do update set placed_by = excluded.placed_by, roles = excluded.roles
  where counted_payment.roles is null;
  -- Another caller may have noted the same, or the list may have been replaced meanwhile.
  update limit_list l set noted_from = coalesce(batch_from, '-infinity')
  where l.workspace_id = of_workspace and l.version = list.version and l.noted_from = list.noted_from;
  return found and batch_from is null;
end $$;

/**
 * Replaces the limits of a workspace, if the version is that of the list. A list that is as requested already stays, whatever its version.
 * Returns whether the list is as requested now.
 */
create function replace_limits(of_workspace bigint, from_version bigint, limits stored_limit[], audit_entries jsonb) returns boolean
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  list limit_list;
  former stored_limit[];
begin
  perform pg_advisory_xact_lock(limit_lock_key(of_workspace));
  select * into list from limit_list l where l.workspace_id = of_workspace for update;
  former := limits_of(of_workspace);
  if not are_limits_raised(former, limits) and not are_limits_raised(limits, former) then
    return true;
  end if;
  if coalesce(list.version, 0) <> from_version then
    return false;
  end if;
  if list.noted_from is distinct from '-infinity' and exists (select from unnest(limits) l where l.per <> 'order') then
    raise exception 'a limit of a day or a month needs all payments noted: call note_payments first'
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  -- With `offset 0` each user is found by its key, and no plan reads all roles of the workspace.
  if exists (
    select from unnest(limits) l where l.user_id is not null and not exists (
      select from workspace_role r where r.workspace_id = of_workspace and r.user_id = l.user_id offset 0)) then
    raise exception 'a limit of a user needs a user of the workspace'
      using errcode = 'foreign_key_violation', table = 'payment_limit', constraint = 'payment_limit_user';
  end if;
  insert into limit_list (workspace_id, version, limit_count, currency_ids, time_zone, noted_from)
  select of_workspace, from_version + 1, cardinality(limits),
         array(select distinct l.currency_id from unnest(limits) l where l.currency_id is not null order by 1), w.time_zone,
         case when cardinality(limits) > 0 then coalesce(list.noted_from, 'infinity') end
  from workspace w where w.id = of_workspace
  on conflict (workspace_id) do update
  set version = excluded.version, limit_count = excluded.limit_count, currency_ids = excluded.currency_ids,
      changed_at = excluded.changed_at, noted_from = excluded.noted_from;
  -- A limit that stays keeps its id and its counters.
  delete from payment_limit p
  where p.workspace_id = of_workspace and not exists (
    select from unnest(limits) l
    where (l.scope, l.account_id, l.role, l.user_id, l.metric, l.per, l.currency_id)
      is not distinct from (p.scope, p.account_id, p.role, p.user_id, p.metric, p.per, p.currency_id));
  insert into payment_limit (workspace_id, scope, account_id, role, user_id, metric, per, value, currency_id)
  select of_workspace, l.* from (
    select scope, account_id, role, user_id, metric, per, value, currency_id from unnest(limits)) l
  on conflict on constraint payment_limit_measure do update set value = excluded.value where payment_limit.value <> excluded.value;
  perform make_limit_use(of_workspace, clock_timestamp());
  insert into limit_change (workspace_id, version, changed_by, before, after)
  values (of_workspace, from_version + 1, nullif(current_setting('app.user', true), '')::bigint, to_jsonb(former), to_jsonb(limits));
  insert into change_outbox (changes) values (jsonb_build_array(jsonb_build_array(of_workspace, 'limits.changed', of_workspace, '{}'::jsonb)));
  insert into audit_outbox (workspace_id, entries) values (of_workspace, audit_entries);
  return true;
end $$;

-- Deletes what was noted of payments that no counter covers any more, at most so many of each workspace of the scope. Returns how many.
create function delete_counted_payments(rows_max integer) returns integer
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  deleted integer;
begin
  delete from counted_payment p using (
    select o.workspace_id, o.transaction_id
    from unnest(nullif(current_setting('app.workspaces', true), '')::bigint[]) w (id)
    cross join lateral (
      select c.workspace_id, c.transaction_id, c.created_at from counted_payment c
      where c.workspace_id = w.id order by c.workspace_id, c.transaction_id limit rows_max) o
    -- Two months and some days: a counter of the month before is kept.
    where o.created_at < statement_timestamp() - interval '70 days') o
  where p.workspace_id = o.workspace_id and p.transaction_id = o.transaction_id;
  get diagnostics deleted = row_count;
  return deleted;
end $$;
