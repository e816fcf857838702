-- What is told of changes: events for customers, and the audit trail with its chain of hashes. Statements write outboxes, and a recorder
-- makes the entries in their order.

create sequence change_outbox_id_seq maxvalue 9007199254740991;
create table change_outbox (
  -- Drawn while the changed rows are locked. So the changes of one resource have ids in their order.
  id bigint primary key default nextval('change_outbox_id_seq'),
  xact xid8 not null default pg_current_xact_id(),
  -- For each event: workspace, type, id of the resource, changes as the event has them, and the user if it is not that of the database
  -- transaction.
  changes jsonb,
  -- New rows of the books and of orders, as arrays of their columns: a batch of orders writes hundreds of them, and the recorder makes the
  -- events. The ids belong to: transfer: account, transaction, recipient; transaction: the one that it returns;
  -- order: account, recipient, quote; execution: order, transaction.
  resource_type text,
  workspace_ids bigint[],
  resource_ids bigint[],
  statuses text[],
  first_ids bigint[],
  second_ids bigint[],
  third_ids bigint[],
  user_ids bigint[],
  user_id bigint default (nullif(current_setting('app.user', true), ''))::bigint,
  -- Null for a user, and for a worker.
  actor_type text default nullif(current_setting('app.actor_type', true), ''),
  created_at timestamptz not null default statement_timestamp()
) with (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.05, vacuum_truncate = off);

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
  actor jsonb not null check ((actor ->> 'type') in ('user', 'serviceAccount', 'service', 'operator', 'network', 'system')),
  -- The time of the change.
  created_at timestamptz not null,
  recorded_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, id),
  unique (workspace_id, resource_type, resource_id, sequence),
  check (resource_type = split_part(type, '.', 1))
) with (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
-- No statement searches by them, and their statistics take most of the time of an ANALYZE.
alter table event alter column changes set statistics 0, alter column actor set statistics 0;

create table event_sequence (
  workspace_id bigint not null,
  resource_type text not null,
  resource_id bigint not null,
  sequence integer not null check (sequence > 0),
  primary key (workspace_id, resource_type, resource_id)
);

create table event_deletion (
  workspace_id bigint primary key,
  -- The greatest id of a deleted event. Events with smaller ids may be left: the last ones of resources that go on.
  last_id bigint not null check (last_id > 0),
  -- The greatest time of a deleted event, as `last_id` is the greatest id.
  last_at timestamptz not null,
  -- The greatest time of a deleted event, and of its transaction, which is later if it was booked ahead of the clock.
  last_row_at timestamptz not null
);

-- Events of new rows, besides those of the books and of orders, which their functions note. Accounts of the service itself make none.
create function note_insertions() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_op <> 'INSERT' or tg_when <> 'AFTER' or tg_level <> 'STATEMENT' then
    raise exception 'note_insertions runs after an INSERT only' using errcode = 'BK013';
  end if;
  if tg_relid = 'banking.account'::regclass then
    insert into change_outbox (changes)
    select jsonb_agg(jsonb_build_array(workspace_id, 'account.opened', id,
             jsonb_build_object('status', jsonb_build_object('before', null, 'after', status))))
    from fresh where kind = 'customer' having count(*) > 0;
  elsif tg_relid = 'banking.recipient'::regclass then
    insert into change_outbox (changes)
    select jsonb_agg(jsonb_build_array(workspace_id, 'recipient.added', id, '{}'::jsonb)) from fresh having count(*) > 0;
  elsif tg_relid = 'banking.quote'::regclass then
    insert into change_outbox (changes)
    select jsonb_agg(jsonb_build_array(workspace_id, 'quote.created', id, jsonb_strip_nulls(jsonb_build_object(
             'accountId', account_id, 'recipientId', recipient_id)))) from fresh having count(*) > 0;
  else
    raise exception 'note_insertions runs for tables of events only' using errcode = 'BK013';
  end if;
  return null;
end $$;

-- Events of changed rows. The plan of the first statement stays, and transition tables have no index: hash joins suit any number of rows.
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
             case when o.status <> n.status then 'order.' || n.status
               when o.paused_at is null then 'order.paused' else 'order.resumed' end, n.id,
             jsonb_strip_nulls(jsonb_build_object('accountId', n.account_id, 'recipientId', n.recipient_id))
               || case when o.status <> n.status then jsonb_build_object('status', jsonb_build_object('before', o.status, 'after',
                 n.status))
                  else '{}' end))
    from former o join fresh n on n.workspace_id = o.workspace_id and n.id = o.id
    where o.status <> n.status or (o.paused_at is null) <> (n.paused_at is null) having count(*) > 0;
  elsif tg_relid = 'banking.execution'::regclass then
    insert into change_outbox (changes)
    select jsonb_agg(jsonb_build_array(n.workspace_id,
             case n.status when 'pending' then 'execution.started' else 'execution.' || n.status end, n.id,
             jsonb_strip_nulls(jsonb_build_object('status', jsonb_build_object('before', o.status, 'after', n.status),
               'orderId', n.order_id, 'transactionId', n.transaction_id))))
    from former o join fresh n on n.workspace_id = o.workspace_id and n.id = o.id
    where o.status <> n.status having count(*) > 0;
  elsif tg_relid = 'banking.transaction'::regclass then
    insert into change_outbox (changes)
    select jsonb_agg(jsonb_build_array(n.workspace_id, 'transaction.' || n.status, n.id,
             jsonb_strip_nulls(jsonb_build_object('status', jsonb_build_object('before', o.status, 'after', n.status),
               'transactionId', n.return_of))))
    from former o join fresh n on n.workspace_id = o.workspace_id and n.id = o.id
    where o.status <> n.status having count(*) > 0;
  elsif tg_relid = 'banking.recipient'::regclass then
    insert into change_outbox (changes)
    select jsonb_agg(jsonb_build_array(n.workspace_id,
             case when o.forgotten_at is distinct from n.forgotten_at then 'recipient.archived'
               when o.verified_at is distinct from n.verified_at then 'recipient.verified' else 'recipient.changed' end, n.id, '{}'::jsonb))
    from former o join fresh n on n.workspace_id = o.workspace_id and n.id = o.id
    where (o.alias, o.saved, o.forgotten_at, o.verified_at) is distinct from (n.alias, n.saved, n.forgotten_at, n.verified_at)
      -- Nothing follows the event of an archived one: its erasure is in the audit trail.
      and o.forgotten_at is null
    having count(*) > 0;
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

do $$
declare
  relation text;
begin
  foreach relation in array array['account', 'recipient', 'quote'] loop
    execute format('create trigger note_insertions after insert on %I
      referencing new table as fresh for each statement execute function note_insertions()', relation);
  end loop;
  foreach relation in array array['transaction', 'recipient', 'customer_order', 'execution', 'payout'] loop
    execute format('create trigger note_updates after update on %I
      referencing old table as former new table as fresh for each statement execute function note_updates()', relation);
  end loop;
end $$;

create trigger note_account after update of alias, status on account for each row
  when (old.alias is distinct from new.alias or old.status is distinct from new.status) execute function note_account();

-- Moves at most so many events of the outbox into `event`, in the order of the changes of each resource, and the rest of the statement that
-- made the last one. Returns how many; null if another session is recording. The number of a resource may be that of a deleted event. A row
-- that a posting wrote is new, and nothing is before it.
create function record_changes(events_max integer) returns integer
  language plpgsql security definer set search_path = banking, pg_temp as $$
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

  -- Materialized, because row-level security allows only plain values in the condition of an index.
  with outbox as materialized (
    select o.*, o.user_id is null and o.actor_type is null as is_of_placer from change_outbox o where o.id = any(taken)),
  created as materialized (
    select o.id as outbox_id, o.resource_type, n.position, n.workspace_id, n.id, n.status, n.first, n.second, n.third,
           coalesce(n.user_id, o.user_id) as user_id, o.actor_type, o.created_at, n.user_id is null and o.is_of_placer as is_of_placer
    from outbox o
    cross join lateral unnest(o.workspace_ids, o.resource_ids, o.statuses, o.first_ids, o.second_ids, o.third_ids, o.user_ids)
      with ordinality n (workspace_id, id, status, first, second, third, user_id, position)
    where o.resource_type is not null),
  noted as materialized (
    select o.id as outbox_id, e.position, (e.change ->> 0)::bigint as workspace_id, e.change ->> 1 as type,
           split_part(e.change ->> 1, '.', 1) as resource_type, (e.change ->> 2)::bigint as resource_id, e.change -> 3 as changes,
           coalesce((e.change ->> 4)::bigint, o.user_id) as user_id, o.actor_type, o.created_at, false as is_new,
           null::bigint as transaction_of_placer, null::bigint as order_of_placer
    from outbox o cross join lateral jsonb_array_elements(o.changes) with ordinality e (change, position)
    union all
    select c.outbox_id, c.position, c.workspace_id, 'transfer.booked', 'transfer', c.id,
           case when c.third is null then jsonb_build_object('accountId', c.first, 'transactionId', c.second)
             else jsonb_build_object('accountId', c.first, 'transactionId', c.second, 'recipientId', c.third) end,
           c.user_id, c.actor_type, c.created_at, true, case when c.is_of_placer then c.second end, null
    from created c where c.resource_type = 'transfer'
    union all
    select c.outbox_id, 2 * c.position, c.workspace_id,
           case c.status when 'pending' then 'transaction.created' else 'transaction.' || c.status end, 'transaction', c.id,
           case when c.first is null then jsonb_build_object('status', jsonb_build_object('before', null, 'after', c.status))
             else jsonb_build_object('status', jsonb_build_object('before', null, 'after', c.status), 'transactionId', c.first) end,
           c.user_id, c.actor_type, c.created_at, true, case when c.is_of_placer then c.id end, null
    from created c where c.resource_type = 'transaction'
    union all
    select c.outbox_id, 2 * c.position + 1, c.workspace_id, 'transaction.returned', 'transaction', c.first,
           jsonb_build_object('transactionId', c.id), c.user_id, c.actor_type, c.created_at, false, null, null
    from created c where c.resource_type = 'transaction' and c.first is not null
    union all
    select c.outbox_id, 2 * c.position + s.part, c.workspace_id, 'order.' || s.step, 'order', c.id,
           jsonb_strip_nulls(jsonb_build_object('accountId', c.first, 'recipientId', c.second, 'quoteId', c.third))
             || jsonb_build_object('status', jsonb_build_object('before', s.before, 'after', s.after)),
           c.user_id, c.actor_type, c.created_at, true, null, null
    from created c
    -- An order that is paid at once is placed and completed in one step.
    cross join lateral (
      values (0, 'placed', null, 'active'), (1, nullif(c.status, 'active'), 'active', c.status)) s (part, step, before, after)
    where c.resource_type = 'order' and s.step is not null
    union all
    select c.outbox_id, c.position, c.workspace_id,
           case c.status when 'pending' then 'execution.started' else 'execution.' || c.status end, 'execution', c.id,
           jsonb_build_object('status', jsonb_build_object('before', null, 'after', c.status), 'orderId', c.first)
             || case when c.second is null then '{}' else jsonb_build_object('transactionId', c.second) end,
           c.user_id, c.actor_type, c.created_at, true, null, case when c.is_of_placer then c.first end
    from created c where c.resource_type = 'execution'),
  ordered as materialized (
    select n.*, case when n.transaction_of_placer is not null then (
             select x.order_id from execution x
             where x.workspace_id = n.workspace_id and x.transaction_id = n.transaction_of_placer) else n.order_of_placer end as order_id
    from noted n),
  attributed as (
    select m.*, coalesce(m.user_id, (
             select o.placed_by from customer_order o
             where o.workspace_id = m.workspace_id and o.id = m.order_id and o.type = 'instant')) as by_user,
           row_number() over (partition by m.workspace_id, m.resource_type, m.resource_id order by m.outbox_id, m.position) as step
    from ordered m),
  inserted as (
    insert into event (workspace_id, type, resource_type, resource_id, sequence, changes, actor, created_at)
    select a.workspace_id, a.type, a.resource_type, a.resource_id,
           a.step + case when a.is_new then 0 else coalesce(greatest((
             select e.sequence from event e
             where e.workspace_id = a.workspace_id and e.resource_type = a.resource_type and e.resource_id = a.resource_id
             order by e.sequence desc limit 1), (
             select d.sequence from event_sequence d
             where d.workspace_id = a.workspace_id and d.resource_type = a.resource_type and d.resource_id = a.resource_id)), 0) end,
           a.changes,
           case when a.by_user is not null and coalesce(a.actor_type, 'user') in ('user', 'service')
             then jsonb_build_object('type', coalesce(a.actor_type, case when exists (
                 select from service_account s where s.workspace_id = a.workspace_id and s.id = a.by_user)
               then 'serviceAccount' else 'user' end), 'id', a.by_user)
             else jsonb_build_object('type', coalesce(a.actor_type, 'system')) end,
           a.created_at
    from attributed a
    order by a.outbox_id, a.position
    returning 1)
  select count(*) into recorded from inserted;
  delete from change_outbox where id = any(taken);
  perform set_config('app.workspaces', scope, true);
  return recorded;
end $$;

-- The resources of a type, of a workspace of the scope, that have changes which are not events yet. A new transaction may be an event of
-- the one that it returns. Of one type, and with repetitions: while no worker runs, a verification reads all changes for each range.
create function unrecorded_resources(workspace bigint, of_type text) returns table (resource_id bigint)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select r.id
  from change_outbox o
    cross join lateral unnest(o.workspace_ids, o.resource_ids, o.first_ids) n (workspace_id, id, first_id)
    cross join lateral (values (n.id), (case when of_type = 'transaction' then n.first_id end)) r (id)
  where o.resource_type = of_type and n.workspace_id = workspace and r.id is not null
    and workspace = any(nullif(current_setting('app.workspaces', true), '')::bigint[])
  union all
  select (e.change ->> 2)::bigint
  from change_outbox o cross join lateral jsonb_array_elements(o.changes) e (change)
  where split_part(e.change ->> 1, '.', 1) = of_type and (e.change ->> 0)::bigint = workspace
    and workspace = any(nullif(current_setting('app.workspaces', true), '')::bigint[])
$$;

create function note_deleted_events() returns trigger language plpgsql
  -- A plan from the time when the table was small would read all transactions for each event.
  set enable_seqscan = off as $$
begin
  -- Materialized, and one row at a time: by the key, because row-level security allows only plain values in the condition of an index.
  with named as materialized (
    select distinct g.workspace_id, n.id
    from gone g
    cross join lateral (
      values (case g.resource_type when 'transaction' then g.resource_id end), ((g.changes ->> 'transactionId')::bigint)) n (id)
    where n.id is not null),
  booked as materialized (
    select n.workspace_id, max((select x.created_at from transaction x where x.workspace_id = n.workspace_id and x.id = n.id)) as last_at
    from named n group by n.workspace_id)
  insert into event_deletion (workspace_id, last_id, last_at, last_row_at)
  select g.workspace_id, max(g.id), max(g.created_at), greatest(max(g.created_at), max(b.last_at))
  from gone g left join booked b on b.workspace_id = g.workspace_id
  group by g.workspace_id order by g.workspace_id
  on conflict (workspace_id) do update
  set last_id = greatest(event_deletion.last_id, excluded.last_id),
      last_at = greatest(event_deletion.last_at, excluded.last_at),
      last_row_at = greatest(event_deletion.last_row_at, excluded.last_row_at);
  return null;
end $$;

create trigger note_deleted_events after delete on event
  referencing old table as gone for each statement execute function note_deleted_events();
create trigger kept_for_a_day before delete on event for each row
  when (old.created_at > statement_timestamp() - interval '1 day') execute function refuse_change();
-- It only rises.
create trigger only_rises before update on event_deletion for each row
  when (new.last_id < old.last_id or new.workspace_id <> old.workspace_id) execute function refuse_change();

-- Deletes events that are older than the kept time: at most so many are read, in the order of workspaces and ids, from after a position.
-- Ids have the order in which changes were recorded, which is about that of their times: an event behind a younger one stays until that one
-- is old. Returns the next position; its workspace is null after the last one. The number of a resource is kept unless the type of its last
-- event is final. An event that is still to be delivered to an endpoint is kept too.
create function delete_old_events(kept_days integer, final_types text[], events_max integer,
  inout after_workspace bigint, inout after_id bigint, out deleted bigint)
  language plpgsql security definer set search_path = banking, pg_temp
  -- A plan from the time when the table was small would stay and read all events of the workspace.
  set enable_sort = off as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  events_left integer := events_max;
  workspaces_left integer := 100;
  events_read integer;
  events_deleted bigint;
  delivered_to bigint;
  young_id bigint;
  last_id bigint;
begin
  if kept_days < 1 then
    raise exception 'events are kept for a day at least' using errcode = 'BK003';
  end if;
  deleted := 0;
  while events_left > 0 and workspaces_left > 0 loop
    if after_id is null then
      select w.id into after_workspace from workspace w where w.id > after_workspace order by w.id limit 1;
      exit when after_workspace is null;
      after_id := 0;
    end if;
    if not hold_workspace(after_workspace) then
      after_id := null;
      workspaces_left := workspaces_left - 1;
      continue;
    end if;
    perform set_config('app.workspaces', format('{%s}', after_workspace), true);
    delivered_to := coalesce((
      select min(w.cursor_event_id) from webhook_endpoint w
      where w.workspace_id = after_workspace and w.deleted_at is null and w.status <> 'disabled'), 9223372036854775807);
    young_id := coalesce((
      select f.id from (
        select e.id, e.created_at from event e
        where e.workspace_id = after_workspace and e.id > after_id order by e.id limit events_left) f
      where f.created_at >= statement_timestamp() - make_interval(days => kept_days)
      order by f.id limit 1), 9223372036854775807);
    -- The lock keeps the `ctid` of a row as it is. The last event of a resource is found as the end of a range of the key.
    with old as materialized (
      select e.ctid as place, e.id, e.type, e.resource_type, e.resource_id, e.sequence
      from event e
      where e.workspace_id = after_workspace and e.id > after_id and e.id < young_id
        -- One that was recorded since the statement before is young.
        and e.created_at < statement_timestamp() - make_interval(days => kept_days)
      order by e.id limit events_left
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
    select (select count(*) from old), (select count(*) from ended), (select max(o.id) from old o)
    into events_read, events_deleted, last_id;
    deleted := deleted + events_deleted;
    after_id := case when events_read = events_left then last_id end;
    events_left := events_left - events_read;
    workspaces_left := workspaces_left - 1;
  end loop;
  perform set_config('app.workspaces', scope, true);
end $$;

create table audit_event (
  workspace_id bigint not null,
  -- 1, 2, 3 … in each workspace, so a missing entry is seen.
  id bigint not null,
  operation text not null,
  outcome text not null check (outcome in ('done', 'refused')),
  reason text,
  -- How many requests were refused.
  count integer not null check (count > 0),
  resource_type text,
  resource_id bigint,
  user_id bigint,
  actor jsonb not null check ((actor ->> 'type') in ('user', 'serviceAccount', 'operator', 'network', 'system')),
  request_id text,
  source_address text,
  -- The time of the change.
  created_at timestamptz not null,
  hash text not null check (hash ~ '^[0-9a-f]{64}$'),
  primary key (workspace_id, id),
  check ((reason is not null) = (outcome = 'refused')),
  check ((resource_type is null) = (resource_id is null))
) with (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
alter table audit_event alter column actor set statistics 0, alter column hash set statistics 0,
  alter column request_id set statistics 0, alter column source_address set statistics 0;
-- As in the indexes of other lists, each condition holds for every row that a page by the index may show.
create index audit_event_by_class on audit_event (workspace_id, operation, created_at desc, id desc) where id >= 1;
create index audit_event_of_resource on audit_event (workspace_id, resource_id, operation, created_at desc, id desc)
  where resource_id is not null;
create index audit_event_of_user on audit_event (workspace_id, user_id, operation, created_at desc, id desc) where user_id is not null;

-- The ends of the chain of a workspace: the last entry that was deleted because of its age, and the last entry.
create table audit_head (
  workspace_id bigint primary key,
  start_id bigint not null default 0,
  start_hash text not null default repeat('0', 64),
  id bigint not null,
  hash text not null,
  -- The time of the last entry that was deleted because of its age.
  start_at timestamptz,
  check (id >= start_id)
);

-- Whether each entry of a row of the outbox can be recorded. The conversions are those of `record_audit`: a value that this function
-- accepts cannot stop the recorder. A loop of plain expressions costs less than a query over the array.
create function are_audit_entries(entries jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
declare
  entry jsonb;
begin
  if jsonb_typeof(entries) <> 'array' then
    return false;
  end if;
  for i in 0 .. jsonb_array_length(entries) - 1 loop
    entry := entries -> i;
    if not coalesce(
      char_length(entry ->> 'operation') between 1 and 100
      and entry ->> 'outcome' in ('done', 'refused')
      and (entry ->> 'outcome' = 'refused') = (entry ->> 'reason' is not null)
      and coalesce((entry ->> 'count')::integer, 1) > 0
      and (entry ->> 'resourceType' is null) = (entry ->> 'resourceId' is null)
      and coalesce((entry ->> 'resourceId')::bigint, 1) > 0
      and coalesce((entry ->> 'userId')::bigint, 1) > 0
      and entry -> 'actor' ->> 'type' in ('user', 'serviceAccount', 'operator', 'network', 'system'), false) then
      return false;
    end if;
  end loop;
  return true;
end $$;

create sequence audit_outbox_id_seq maxvalue 9007199254740991;
create table audit_outbox (
  workspace_id bigint not null,
  id bigint not null default nextval('audit_outbox_id_seq'),
  -- For each entry its operation, outcome, reason, count, resource, user, actor, request and source address.
  entries jsonb not null check (jsonb_typeof(entries) = 'array'),
  created_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, id),
  constraint audit_outbox_recordable check (are_audit_entries(entries))
) with (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.05, vacuum_truncate = off);
-- Finds what is not recorded, of every workspace.
create index audit_outbox_by_id on audit_outbox (id);

create function split_audit_entries() returns trigger language plpgsql as $$
begin
  insert into audit_outbox (workspace_id, entries)
  select new.workspace_id, jsonb_agg(e.entry order by e.position)
  from jsonb_array_elements(new.entries) with ordinality e (entry, position)
  group by (e.position - 1) / 100 order by (e.position - 1) / 100;
  return null;
end $$;

create trigger split before insert on audit_outbox for each row
  when (case jsonb_typeof(new.entries) when 'array' then jsonb_array_length(new.entries) end > 100) execute function split_audit_entries();
create trigger kept_for_a_year before delete on audit_event for each row
  when (old.created_at > statement_timestamp() - interval '365 days') execute function refuse_change();

-- Writes an entry into the outbox of each of these workspaces that this database serves, in the order of their ids. A workspace whose
-- place is written by the same SQL statement is not open yet. The lock is that of a scope, and the state is read behind it.
create function note_in_workspaces(ids bigint[], operation text, resource_type text, resource_id bigint, actor jsonb, of_user bigint)
  returns void
  language plpgsql set search_path = banking, pg_temp as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
begin
  if exists (select from cell_identity) then
    perform pg_advisory_xact_lock_shared(workspace_lock_key(w.id)) from (select unnest(ids) as id order by 1) w;
    select array_agg(w.id) into ids
    from unnest(ids) w (id)
    where exists (select from cell_workspace c where c.workspace_id = w.id and c.state = 'open')
      or not exists (select from cell_workspace c where c.workspace_id = w.id)
        and exists (select from workspace_place p join cell_identity i on i.number = p.cell_number where p.workspace_id = w.id);
  end if;
  if ids is null then
    return;
  end if;
  perform set_config('app.workspaces', ids::text, true);
  insert into audit_outbox (workspace_id, entries)
  select w.id, jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('operation', operation, 'outcome', 'done',
    'resourceType', resource_type, 'resourceId', resource_id, 'userId', of_user, 'actor', actor)))
  from unnest(ids) w (id) order by w.id;
  perform set_config('app.workspaces', scope, true);
end $$;

-- What the hash of an entry covers, besides the hash before it.
create function audit_content(
  workspace_id bigint, id bigint, operation text, outcome text, reason text, count integer, resource_type text, resource_id bigint,
  user_id bigint, actor jsonb, request_id text, source_address text, created_at timestamptz) returns jsonb
  language sql stable
  return jsonb_build_array(workspace_id, id, operation, outcome, reason, count, resource_type, resource_id, user_id, actor, request_id,
    source_address, rfc3339(created_at));

-- The hash of each entry of a window, from the hash before the first.
create aggregate audit_chain (start text, content jsonb) (sfunc = next_audit_hash, stype = text);

-- How many rows wait for the recorder, up to a limit, and the age of the oldest.
create function count_unrecorded_audit(rows_max integer, out waiting integer, out seconds float8)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select count(*)::integer, coalesce(greatest(extract(epoch from statement_timestamp() - min(r.created_at)), 0), 0)::float8
  from (
    select o.created_at from audit_outbox o
    where is_served_here(o.workspace_id)
    order by o.id limit rows_max) r
$$;

-- The workspaces of the oldest rows of the outbox. Rows of a workspace that is not open here, as during a move, do not take the place of
-- others.
create function workspaces_to_audit(rows_max integer) returns setof bigint
  language sql stable security definer set search_path = banking, pg_temp as $$
  select distinct r.workspace_id
  from (
    select o.workspace_id from audit_outbox o
    where is_served_here(o.workspace_id)
    order by o.id limit rows_max) r
$$;

-- Records the oldest rows of the outbox that belong to the workspaces of the scope. Returns how many; null if another session records.
create function record_audit(rows_max integer) returns integer
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  scope bigint[] := nullif(current_setting('app.workspaces', true), '')::bigint[];
  taken bigint[];
begin
  -- The statements below see what the last holder of the lock has committed, because each has a snapshot of its own.
  if not pg_try_advisory_xact_lock(hashtextextended('banking.audit', 0)) then
    return null;
  end if;
  select array_agg(t.id) into taken
  from (select o.id from audit_outbox o where o.workspace_id = any(scope) order by o.id limit rows_max) t;
  if taken is null then
    return 0;
  end if;
  with entry as (
    select o.workspace_id, o.created_at, e.entry,
           row_number() over (partition by o.workspace_id order by o.id, e.position) as step
    from audit_outbox o cross join lateral jsonb_array_elements(o.entries) with ordinality e (entry, position)
    where o.workspace_id = any(scope) and o.id = any(taken)),
  numbered as (
    select e.workspace_id, coalesce(h.id, 0) + e.step as id, e.entry ->> 'operation' as operation, e.entry ->> 'outcome' as outcome,
           e.entry ->> 'reason' as reason, coalesce((e.entry ->> 'count')::integer, 1) as count,
             e.entry ->> 'resourceType' as resource_type,
           (e.entry ->> 'resourceId')::bigint as resource_id, (e.entry ->> 'userId')::bigint as user_id, e.entry -> 'actor' as actor,
           e.entry ->> 'requestId' as request_id, e.entry ->> 'sourceAddress' as source_address, e.created_at,
           coalesce(h.hash, repeat('0', 64)) as start
    from entry e left join lateral (select * from audit_head x where x.workspace_id = e.workspace_id limit 1) h on true),
  chained as (
    insert into audit_event (workspace_id, id, operation, outcome, reason, count, resource_type, resource_id, user_id, actor, request_id,
                             source_address, created_at, hash)
    select n.workspace_id, n.id, n.operation, n.outcome, n.reason, n.count, n.resource_type, n.resource_id, n.user_id, n.actor,
      n.request_id,
           n.source_address, n.created_at,
           audit_chain(n.start, audit_content(n.workspace_id, n.id, n.operation, n.outcome, n.reason, n.count, n.resource_type,
             n.resource_id,
                         n.user_id, n.actor, n.request_id, n.source_address, n.created_at))
             over (partition by n.workspace_id order by n.id rows between unbounded preceding and current row)
    from numbered n
    returning workspace_id, id, hash)
  insert into audit_head (workspace_id, id, hash)
  select distinct on (c.workspace_id) c.workspace_id, c.id, c.hash from chained c order by c.workspace_id, c.id desc
  on conflict (workspace_id) do update set id = excluded.id, hash = excluded.hash;
  delete from audit_outbox where workspace_id = any(scope) and id = any(taken);
  return cardinality(taken);
end $$;

-- Deletes the oldest entries of each workspace of the scope that are older than so many days, at most so many of each workspace. The hash
-- of the last one stays, so the rest can be verified. Returns how many.
create function delete_audit_events(kept_days integer, rows_max integer) returns integer
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  scope bigint[] := nullif(current_setting('app.workspaces', true), '')::bigint[];
  deleted integer;
begin
  if kept_days < 365 then
    raise exception 'entries of the audit trail are kept for a year' using errcode = 'BK003';
  end if;
  -- The lock of the recorder, because both change the ends of a chain.
  if not pg_try_advisory_xact_lock(hashtextextended('banking.audit', 0)) then
    return 0;
  end if;
  with oldest as (
    select e.workspace_id, e.id, e.hash, e.created_at,
           bool_and(e.created_at < statement_timestamp() - make_interval(days => kept_days))
             over (partition by e.workspace_id order by e.id) as is_old
    from unnest(scope) w (id) cross join lateral (
      select * from audit_event l where l.workspace_id = w.id order by l.workspace_id, l.id limit rows_max) e),
  gone as (
    delete from audit_event e using oldest o
    where o.is_old and e.workspace_id = o.workspace_id and e.id = o.id
    returning e.workspace_id, e.id, e.hash, e.created_at),
  started as (
    update audit_head h set start_id = g.id, start_hash = g.hash, start_at = greatest(h.start_at, g.latest)
    from (select distinct on (workspace_id) workspace_id, id, hash, max(created_at) over (partition by workspace_id) as latest
          from gone order by workspace_id, id desc) g
    where h.workspace_id = g.workspace_id)
  select count(*) into deleted from gone;
  return deleted;
end $$;
