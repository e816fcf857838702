-- The number of a resource whose last event was deleted: its next event continues it. So no event is kept for its number, and a deletion
-- reads no event again that an earlier one has left, unless it is still to be delivered.
-- Phase: expand

create table event_sequence (
  workspace_id bigint not null,
  resource_type text not null,
  resource_id bigint not null,
  sequence integer not null check (sequence > 0),
  primary key (workspace_id, resource_type, resource_id)
);
alter table event_sequence enable row level security;
alter table event_sequence force row level security;
create policy workspaces on event_sequence
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));

-- As before (0050), and the number of a resource may be that of a deleted event.
create or replace function record_changes(events_max integer) returns integer
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
    select a.workspace_id, a.type, a.resource_type, a.resource_id, coalesce(greatest(l.sequence, d.sequence), 0) + a.step, a.changes,
           case when a.by_user is not null and coalesce(a.actor_type, 'user') in ('user', 'service')
             then jsonb_build_object('type', coalesce(a.actor_type, 'user'), 'id', a.by_user)
             else jsonb_build_object('type', coalesce(a.actor_type, 'system')) end,
           a.created_at
    from attributed a
    left join lateral (
      select e.sequence from event e
      where e.workspace_id = a.workspace_id and e.resource_type = a.resource_type and e.resource_id = a.resource_id
      order by e.sequence desc limit 1) l on true
    left join event_sequence d
      on d.workspace_id = a.workspace_id and d.resource_type = a.resource_type and d.resource_id = a.resource_id
    order by a.outbox_id, a.position
    returning 1)
  select count(*) into recorded from inserted;
  delete from change_outbox where id = any(taken);
  perform set_config('app.workspaces', scope, true);
  return recorded;
end $$;

-- As before (0056), and all old events are deleted. The number of a resource is kept unless the type of its last event is final. An event
-- that is still to be delivered to an endpoint is kept too.
create or replace function delete_old_events(kept_days integer, final_types text[], events_max integer,
  inout after_workspace bigint, inout after_time timestamptz, inout after_id bigint, out deleted bigint)
  language plpgsql security definer set search_path = banking, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  events_left integer := events_max;
  workspaces_left integer := 100;
  events_read integer;
  events_deleted bigint;
  delivered_to bigint;
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
    delivered_to := coalesce((
      select min(w.cursor_event_id) from webhook_endpoint w
      where w.workspace_id = after_workspace and w.deleted_at is null and w.status <> 'disabled'), 9223372036854775807);
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
        where o.id <= delivered_to
          and (select d.id from webhook_delivery d
               where d.workspace_id = after_workspace and d.event_id = o.id and d.status = 'pending'
                 and (select w.status from webhook_endpoint w
                      where w.workspace_id = after_workspace and w.id = d.endpoint_id and w.deleted_at is null) <> 'disabled'
               limit 1) is null))
      returning type, resource_type, resource_id, sequence),
    -- The events that were deleted are visible to the statement that deletes them.
    going_on as (
      insert into event_sequence (workspace_id, resource_type, resource_id, sequence)
      select after_workspace, g.resource_type, g.resource_id, g.sequence
      from ended g
      where g.type <> all(final_types) and g.sequence = (
        select n.sequence from event n
        where n.workspace_id = after_workspace and n.resource_type = g.resource_type and n.resource_id = g.resource_id
        order by n.sequence desc limit 1)
      order by g.resource_type, g.resource_id
      on conflict on constraint event_sequence_pkey do update set sequence = excluded.sequence
        where event_sequence.sequence < excluded.sequence),
    -- Nothing follows the last event of a resource that is final, so its number is not needed any more.
    final as (
      delete from event_sequence s using ended g
      where g.type = any(final_types) and s.workspace_id = after_workspace
        and s.resource_type = g.resource_type and s.resource_id = g.resource_id)
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
