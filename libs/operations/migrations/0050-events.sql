-- Events: the record of what changed, and the outbox from which a worker makes it.
-- Triggers write the outbox in the database transaction of the change, so no code path can leave it out. A recorder of the worker moves
-- its rows into `event`. It takes the rows that it sees and that are left, and never compares ids with those of an earlier batch: a row
-- that is committed late is taken late, and none is lost. Ids of events are given by one recorder at a time, so in a workspace no event
-- becomes visible before one with a smaller id.
-- Phase: expand

create sequence event_id_seq maxvalue 9007199254740991;
create table event (
  workspace_id bigint not null,
  id bigint not null default nextval('event_id_seq'),
  -- The types are listed in libs/domain/src/event-types.ts.
  type text not null,
  resource_type text not null,
  resource_id bigint not null,
  -- 1, 2, 3 … for each resource.
  sequence integer not null check (sequence > 0),
  -- Statuses before and after, and ids of what belongs to the resource. It holds no amounts, names, account codes or texts.
  changes jsonb not null check (jsonb_typeof(changes) = 'object'),
  actor jsonb not null check (actor ->> 'type' in ('user', 'service', 'operator', 'network', 'system')),
  -- The time of the change.
  created_at timestamptz not null,
  recorded_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, id),
  unique (workspace_id, resource_type, resource_id, sequence),
  check (resource_type = split_part(type, '.', 1))
);
create index event_by_time on event (workspace_id, created_at, id);
-- Rows are inserted and, much later, deleted: without inserts of its own, autovacuum would not freeze them in time.
alter table event set (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

-- One row for each statement that changed something of a customer. It is read over all workspaces and deleted when it is recorded, so it
-- has no row-level security and holds nothing but types, ids, states and times. It has no checks: only triggers write it, and each INSERT
-- would prepare them anew.
create sequence change_outbox_id_seq maxvalue 9007199254740991;
create table change_outbox (
  -- Drawn while the changed rows are locked. So the changes of one resource have ids in their order.
  id bigint primary key default nextval('change_outbox_id_seq'),
  xact xid8 not null default pg_current_xact_id(),
  -- For each event: workspace, type, id of the resource, changes, and the user if it is not that of the database transaction.
  changes jsonb,
  -- New rows of the tables that a posting writes, as arrays of their columns: a batch of orders writes hundreds of them, and the recorder
  -- makes the events. The ids belong to: transfer: account, transaction, recipient; transaction: the one that it returns;
  -- order: account, recipient, quote; execution: order, transaction.
  resource_type text,
  workspace_ids bigint[],
  resource_ids bigint[],
  statuses text[],
  first_ids bigint[],
  second_ids bigint[],
  third_ids bigint[],
  user_ids bigint[],
  user_id bigint default nullif(current_setting('app.user', true), '')::bigint,
  -- Null for a user, and for a worker.
  actor_type text default coalesce(nullif(current_setting('app.actor_type', true), ''),
    case when nullif(current_setting('app.actor', true), '') is not null then 'operator' end),
  created_at timestamptz not null default statement_timestamp()
);
-- Deleted rows leave dead index entries until a vacuum, as in `work`.
alter table change_outbox set (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.05, vacuum_truncate = off);

-- Events of new rows. Accounts of the service itself make none.
create function note_insertions() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_op <> 'INSERT' or tg_when <> 'AFTER' or tg_level <> 'STATEMENT' then
    raise exception 'note_insertions runs after an INSERT only' using errcode = 'BK013';
  end if;
  if tg_relid = 'banking.transfer'::regclass then
    insert into change_outbox (resource_type, workspace_ids, resource_ids, first_ids, second_ids, third_ids)
    select 'transfer', array_agg(workspace_id), array_agg(id), array_agg(account_id), array_agg(transaction_id), array_agg(recipient_id)
    from fresh where account_version is not null having count(*) > 0;
  elsif tg_relid = 'banking.transaction'::regclass then
    insert into change_outbox (resource_type, workspace_ids, resource_ids, statuses, first_ids)
    select 'transaction', array_agg(workspace_id), array_agg(id), array_agg(status), array_agg(return_of)
    from fresh having count(*) > 0;
  elsif tg_relid = 'banking.customer_order'::regclass then
    insert into change_outbox (resource_type, workspace_ids, resource_ids, statuses, first_ids, second_ids, third_ids, user_ids)
    select 'order', array_agg(workspace_id), array_agg(id), array_agg(status),
           array_agg(account_id), array_agg(recipient_id), array_agg(quote_id), array_agg(placed_by)
    from fresh having count(*) > 0;
  elsif tg_relid = 'banking.execution'::regclass then
    -- The recorder finds the user of an order that is paid at once. The placer of a later one may change before that. The order is looked
    -- up as a range of one value in the order of the key: without statistics, the plan of an equality may read all orders.
    insert into change_outbox (resource_type, workspace_ids, resource_ids, statuses, first_ids, second_ids, user_ids)
    select 'execution', array_agg(workspace_id), array_agg(id), array_agg(status), array_agg(order_id), array_agg(transaction_id),
           array_agg(case when status = 'scheduled' and sequence = 1 then (
             select o.placed_by from customer_order o
             where o.workspace_id = fresh.workspace_id and o.id >= fresh.order_id and o.id <= fresh.order_id order by o.id limit 1) end)
    from fresh having count(*) > 0;
  elsif tg_relid = 'banking.account'::regclass then
    insert into change_outbox (changes)
    select jsonb_agg(jsonb_build_array(workspace_id, 'account.opened', id,
             jsonb_build_object('status', jsonb_build_object('before', null, 'after', status))))
    from fresh where kind = 'customer' having count(*) > 0;
  elsif tg_relid = 'banking.recipient'::regclass then
    insert into change_outbox (changes)
    select jsonb_agg(jsonb_build_array(workspace_id, 'recipient.added', id, '{}'::jsonb)) from fresh having count(*) > 0;
  elsif tg_relid = 'banking.quote'::regclass then
    insert into change_outbox (changes)
    select jsonb_agg(jsonb_build_array(workspace_id, 'quote.created', id, jsonb_build_object(
             'accountId', account_id, 'recipientId', recipient_id))) from fresh having count(*) > 0;
  else
    raise exception 'note_insertions runs for tables of events only' using errcode = 'BK013';
  end if;
  return null;
end $$;

-- Events of changed rows. A plan of hash joins suits a statement of any size, and it stays with the connection.
create function note_updates() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp
  set enable_nestloop = off set enable_mergejoin = off as $$
begin
  if tg_op <> 'UPDATE' or tg_when <> 'AFTER' or tg_level <> 'STATEMENT' then
    raise exception 'note_updates runs after an UPDATE only' using errcode = 'BK013';
  end if;
  if tg_relid = 'banking.customer_order'::regclass then
    insert into change_outbox (changes)
    select jsonb_agg(jsonb_build_array(n.workspace_id,
             case when o.status <> n.status then 'order.' || n.status when o.paused_at is null then 'order.paused' else 'order.resumed' end, n.id,
             jsonb_build_object('accountId', n.account_id, 'recipientId', n.recipient_id)
               || case when o.status <> n.status then jsonb_build_object('status', jsonb_build_object('before', o.status, 'after', n.status))
                  else '{}' end))
    from former o join fresh n on n.workspace_id = o.workspace_id and n.id = o.id
    where o.status <> n.status or (o.paused_at is null) <> (n.paused_at is null) having count(*) > 0;
  elsif tg_relid = 'banking.execution'::regclass then
    insert into change_outbox (changes)
    select jsonb_agg(jsonb_build_array(n.workspace_id,
             case n.status when 'pending' then 'execution.started' else 'execution.' || n.status end, n.id,
             jsonb_build_object('status', jsonb_build_object('before', o.status, 'after', n.status),
               'orderId', n.order_id, 'transactionId', n.transaction_id)))
    from former o join fresh n on n.workspace_id = o.workspace_id and n.id = o.id
    where o.status <> n.status having count(*) > 0;
  elsif tg_relid = 'banking.transaction'::regclass then
    insert into change_outbox (changes)
    select jsonb_agg(jsonb_build_array(n.workspace_id, 'transaction.' || n.status, n.id,
             jsonb_build_object('status', jsonb_build_object('before', o.status, 'after', n.status), 'transactionId', n.return_of)))
    from former o join fresh n on n.workspace_id = o.workspace_id and n.id = o.id
    where o.status <> n.status having count(*) > 0;
  elsif tg_relid = 'banking.recipient'::regclass then
    insert into change_outbox (changes)
    select jsonb_agg(jsonb_build_array(n.workspace_id,
             case when o.forgotten_at is distinct from n.forgotten_at then 'recipient.archived' else 'recipient.changed' end, n.id, '{}'::jsonb))
    from former o join fresh n on n.workspace_id = o.workspace_id and n.id = o.id
    where (o.alias, o.saved, o.forgotten_at) is distinct from (n.alias, n.saved, n.forgotten_at) having count(*) > 0;
  elsif tg_relid = 'banking.payout'::regclass then
    insert into change_outbox (changes)
    select jsonb_agg(jsonb_build_array(n.workspace_id,
             case n.status when 'parked' then 'payout.parked' else 'payout.released' end, n.transaction_id,
             jsonb_build_object('status', jsonb_build_object('before', o.status, 'after', n.status), 'transactionId', n.transaction_id)))
    from former o join fresh n on n.workspace_id = o.workspace_id and n.transaction_id = o.transaction_id
    where o.status <> n.status and (n.status = 'parked' or o.status = 'parked' and n.status = 'due') having count(*) > 0;
  else
    raise exception 'note_updates runs for tables of events only' using errcode = 'BK013';
  end if;
  return null;
end $$;

-- For each row, because a posting updates accounts and changes none of these columns: a trigger of a statement would run with each.
create function note_account() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.account'::regclass or tg_op <> 'UPDATE' then
    raise exception 'note_account runs after an UPDATE of account only' using errcode = 'BK013';
  end if;
  insert into change_outbox (changes)
  select jsonb_agg(change)
  from (select jsonb_build_array(new.workspace_id, 'account.' || new.status, new.id,
                 jsonb_build_object('status', jsonb_build_object('before', old.status, 'after', new.status))) as change
        where old.status <> new.status
        union all
        select jsonb_build_array(new.workspace_id, 'account.changed', new.id, '{}'::jsonb) where old.alias is distinct from new.alias) c;
  return null;
end $$;

-- Moves at most so many events of the outbox into `event`, in the order of the changes of each resource, and the rest of the statement
-- that made the last one. Returns how many; null if another session is recording.
-- The plan stays with the connection while the tables grow, so it is one of nested loops over indexes.
create function record_changes(events_max integer) returns integer
  language plpgsql security definer set search_path = banking, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  taken bigint[];
  recorded integer;
begin
  -- The statements below see what the last holder of the lock has committed, because each has a snapshot of its own.
  if not pg_try_advisory_xact_lock(hashtextextended('banking.events', 0)) then
    return null;
  end if;
  select array_agg(t.id) into taken
  from (select o.id, sum(o.length) over (order by o.id) - o.length as before
        from (select c.id, coalesce(cardinality(c.workspace_ids), jsonb_array_length(c.changes)) as length
              from change_outbox c order by c.id limit events_max) o) t
  where t.before < events_max;
  if taken is null then
    return 0;
  end if;
  perform set_config('app.workspaces', (
    select array_agg(distinct w.id)::text
    from change_outbox o cross join lateral (
      select unnest(o.workspace_ids)
      union all select (e.change ->> 0)::bigint from jsonb_array_elements(o.changes) e (change)) w (id)
    where o.id = any(taken)), true);

  with noted as materialized (
    select o.id as outbox_id, e.position, (e.change ->> 0)::bigint as workspace_id, e.change ->> 1 as type, (e.change ->> 2)::bigint as resource_id,
           (e.change -> 3) -> 'status' as status, (e.change -> 3) - 'status' as ids, (e.change ->> 4)::bigint as user_id
    from change_outbox o cross join lateral jsonb_array_elements(o.changes) with ordinality e (change, position)
    where o.id = any(taken)
    union all
    select o.id, 2 * n.position + s.part, n.workspace_id, o.resource_type || '.' || s.step, coalesce(s.other, n.id),
           case when s.after is not null then jsonb_build_object('before', s.before, 'after', s.after) end, s.ids, n.user_id
    from change_outbox o
    cross join lateral unnest(o.workspace_ids, o.resource_ids, o.statuses, o.first_ids, o.second_ids, o.third_ids, o.user_ids)
      with ordinality n (workspace_id, id, status, first, second, third, user_id, position)
    cross join lateral (
      select 0 as part, 'booked' as step, null::bigint as other, null as before, null as after,
             jsonb_build_object('accountId', n.first, 'transactionId', n.second, 'recipientId', n.third) as ids
      where o.resource_type = 'transfer'
      union all
      select 0, case n.status when 'pending' then 'created' else n.status end, null, null, n.status, jsonb_build_object('transactionId', n.first)
      where o.resource_type = 'transaction'
      union all
      select 1, 'returned', n.first, null, null, jsonb_build_object('transactionId', n.id)
      where o.resource_type = 'transaction' and n.first is not null
      union all
      select 0, 'placed', null, null, 'active', jsonb_build_object('accountId', n.first, 'recipientId', n.second, 'quoteId', n.third)
      where o.resource_type = 'order'
      -- An order that is paid at once is placed and completed in one step.
      union all
      select 1, n.status, null, 'active', n.status, jsonb_build_object('accountId', n.first, 'recipientId', n.second, 'quoteId', n.third)
      where o.resource_type = 'order' and n.status <> 'active'
      union all
      select 0, case n.status when 'pending' then 'started' else n.status end, null, null, n.status,
             jsonb_build_object('orderId', n.first, 'transactionId', n.second)
      where o.resource_type = 'execution') s
    where o.id = any(taken)),
  made as materialized (
    select n.outbox_id, n.position, n.workspace_id, n.type, t.resource_type, n.resource_id,
           jsonb_strip_nulls(n.ids) || case when n.status is not null then jsonb_build_object('status', n.status) else '{}' end as changes,
           coalesce(n.user_id, o.user_id) as user_id, o.actor_type, o.created_at,
           -- What an order that is paid at once has written belongs to its placer: one database transaction places orders of many users.
           case when n.user_id is null and o.user_id is null and o.actor_type is null then
             case when t.resource_type = 'transfer' then (n.ids ->> 'transactionId')::bigint
               when t.resource_type = 'transaction' and n.status -> 'before' = 'null' then n.resource_id end end as transaction_of_placer,
           case when n.user_id is null and o.user_id is null and o.actor_type is null
               and t.resource_type = 'execution' and n.status -> 'before' = 'null'
             then (n.ids ->> 'orderId')::bigint end as order_of_placer
    from noted n join change_outbox o on o.id = n.outbox_id cross join lateral split_part(n.type, '.', 1) t (resource_type)),
  -- Row-level security allows only plain values in the condition of an index.
  attributed as (
    select m.*, coalesce(m.user_id, p.placed_by) as by_user,
           row_number() over (partition by m.workspace_id, m.resource_type, m.resource_id order by m.outbox_id, m.position) as step
    from made m
    left join lateral (
      select o.placed_by
      from (select coalesce(m.order_of_placer, (
              select x.order_id from execution x
              where x.workspace_id = m.workspace_id
                and x.transaction_id >= m.transaction_of_placer and x.transaction_id <= m.transaction_of_placer
              order by x.transaction_id limit 1)) as id offset 0) k
      cross join lateral (
        select c.placed_by, c.type from customer_order c
        where c.workspace_id = m.workspace_id and c.id >= k.id and c.id <= k.id order by c.id limit 1) o
      where o.type = 'instant' and (m.order_of_placer is not null or m.transaction_of_placer is not null)
      offset 0) p on true),
  inserted as (
    insert into event (workspace_id, type, resource_type, resource_id, sequence, changes, actor, created_at)
    select a.workspace_id, a.type, a.resource_type, a.resource_id, coalesce(l.sequence, 0) + a.step, a.changes,
           case when a.by_user is not null and coalesce(a.actor_type, 'user') in ('user', 'service')
             then jsonb_build_object('type', coalesce(a.actor_type, 'user'), 'id', a.by_user)
             else jsonb_build_object('type', coalesce(a.actor_type, 'system')) end,
           a.created_at
    from attributed a
    left join lateral (
      select e.sequence from event e
      where e.workspace_id = a.workspace_id and e.resource_type = a.resource_type and e.resource_id = a.resource_id
      order by e.sequence desc limit 1) l on true
    order by a.outbox_id, a.position
    returning 1)
  select count(*) into recorded from inserted;
  delete from change_outbox where id = any(taken);
  perform set_config('app.workspaces', scope, true);
  return recorded;
end $$;

-- Deletes events that are older than the kept time: at most so many are read, in the order of workspaces and times, from after a position.
-- Returns the next position; its workspace is null after the last one. The last event of a resource is kept unless its type is final, so
-- that the sequence of the resource goes on.
create function delete_old_events(kept_days integer, final_types text[], events_max integer,
  inout after_workspace bigint, inout after_time timestamptz, inout after_id bigint, out deleted bigint)
  language plpgsql security definer set search_path = banking, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  events_left integer := events_max;
  workspaces_left integer := 100;
  events_read integer;
  events_deleted bigint;
  last_time timestamptz;
  last_id bigint;
begin
  if kept_days < 1 then
    raise exception 'events are kept for a day at least' using errcode = 'BK003';
  end if;
  deleted := 0;
  while events_left > 0 and workspaces_left > 0 loop
    if after_time is null then
      select w.id into after_workspace from workspace w where w.id > after_workspace order by w.id limit 1;
      exit when after_workspace is null;
      after_time := '-infinity';
      after_id := 0;
    end if;
    -- A workspace that is being moved keeps its rows as they are, in both cells. The lock is that of a scope, and the state is read behind it.
    perform pg_advisory_xact_lock_shared(workspace_lock_key(after_workspace));
    if exists (select from cell_identity)
       and not exists (select from cell_workspace c where c.workspace_id = after_workspace and c.state = 'open') then
      after_time := null;
      workspaces_left := workspaces_left - 1;
      continue;
    end if;
    perform set_config('app.workspaces', format('{%s}', after_workspace), true);
    -- The lock keeps the `ctid` of a row as it is. The last event of a resource is found as the end of a range of the key.
    with old as materialized (
      select e.ctid as place, e.id, e.type, e.resource_type, e.resource_id, e.sequence, e.created_at
      from event e
      where e.workspace_id = after_workspace and (e.created_at, e.id) > (after_time, after_id)
        and e.created_at < statement_timestamp() - make_interval(days => kept_days)
      order by e.created_at, e.id limit events_left
      for update),
    ended as (
      delete from event where ctid = any(array(
        select o.place from old o
        where o.type = any(final_types) or o.sequence < (
          select n.sequence from event n
          where n.workspace_id = after_workspace and n.resource_type = o.resource_type and n.resource_id = o.resource_id
          order by n.sequence desc limit 1)))
      returning 1)
    select (select count(*) from old), (select count(*) from ended), l.created_at, l.id
    into events_read, events_deleted, last_time, last_id
    from (values (1)) one left join lateral (select o.created_at, o.id from old o order by o.created_at desc, o.id desc limit 1) l on true;
    deleted := deleted + events_deleted;
    after_time := case when events_read = events_left then last_time end;
    after_id := last_id;
    events_left := events_left - events_read;
    workspaces_left := workspaces_left - 1;
  end loop;
  perform set_config('app.workspaces', scope, true);
end $$;

-- Events are never changed. The worker deletes old ones, and none of the last day.
create trigger append_only before update on event for each row execute function refuse_change();
create trigger kept_for_a_day before delete on event for each row
  when (old.created_at > statement_timestamp() - interval '1 day') execute function refuse_change();
create trigger append_only_truncate before truncate on event for each statement execute function refuse_change();
-- A row of the outbox is recorded or left.
create trigger append_only before update on change_outbox for each row execute function refuse_change();
create trigger append_only_truncate before truncate on change_outbox for each statement execute function refuse_change();

-- In the order in which a posting writes the tables, so that the migration and a posting wait for each other and do not deadlock. A
-- posting updates accounts after its transfers.
create trigger note_insertions after insert on transaction
  referencing new table as fresh for each statement execute function note_insertions();
create trigger note_updates after update on transaction
  referencing old table as former new table as fresh for each statement execute function note_updates();
create trigger note_insertions after insert on transfer
  referencing new table as fresh for each statement execute function note_insertions();
create trigger note_insertions after insert on account
  referencing new table as fresh for each statement execute function note_insertions();
create trigger note_account after update of alias, status on account for each row
  when (old.alias is distinct from new.alias or old.status is distinct from new.status) execute function note_account();
create trigger note_insertions after insert on customer_order
  referencing new table as fresh for each statement execute function note_insertions();
create trigger note_updates after update on customer_order
  referencing old table as former new table as fresh for each statement execute function note_updates();
create trigger note_insertions after insert on execution
  referencing new table as fresh for each statement execute function note_insertions();
create trigger note_updates after update on execution
  referencing old table as former new table as fresh for each statement execute function note_updates();
create trigger note_updates after update on payout
  referencing old table as former new table as fresh for each statement execute function note_updates();
create trigger note_insertions after insert on recipient
  referencing new table as fresh for each statement execute function note_insertions();
create trigger note_updates after update on recipient
  referencing old table as former new table as fresh for each statement execute function note_updates();
create trigger note_insertions after insert on quote
  referencing new table as fresh for each statement execute function note_insertions();

alter table event enable row level security;
alter table event force row level security;
create policy workspaces on event
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));

revoke execute on function note_insertions(), note_updates(), note_account(), record_changes(integer),
  delete_old_events(integer, text[], integer, bigint, timestamptz, bigint) from public;
grant select on event to banking_app;
-- For the metrics of the recorder.
grant select (id, created_at) on change_outbox to banking_app;
grant execute on function record_changes(integer), delete_old_events(integer, text[], integer, bigint, timestamptz, bigint) to banking_app;
