-- Delivery of webhooks by the worker.
-- A worker takes the lease of an endpoint, sends events behind its cursor and due retries, and records the results with the token of the
-- lease. No database transaction is open meanwhile. A worker whose lease was taken by another one records nothing.
-- The app role cannot read sealed secrets or change a cursor, so functions with the rights of the owner do both, in the scope of the caller.
-- Phase: expand

-- The endpoints for which there is something to do: an event behind the cursor, or a due attempt. A scalar subquery is one index search a
-- row; the planner might turn `exists` into a join that reads all events. Without cells, this database serves all workspaces.
create function webhook_endpoints_due(endpoints_max integer) returns table (workspace_id bigint, id bigint)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select e.workspace_id, e.id from webhook_endpoint e
  where e.deleted_at is null and e.status <> 'disabled' and coalesce(e.lease_until, '-infinity') <= statement_timestamp()
    and ((select v.id from event v where v.workspace_id = e.workspace_id order by v.id desc limit 1) > e.cursor_event_id
      or (select d.next_attempt_at from webhook_delivery d
          where d.workspace_id = e.workspace_id and d.endpoint_id = e.id and d.status = 'pending'
          order by d.next_attempt_at limit 1) <= statement_timestamp())
    and (not exists (select from cell_identity)
      or (select c.state from cell_workspace c where c.workspace_id = e.workspace_id) = 'open')
  order by e.lease_until nulls first
  limit endpoints_max
$$;

-- Takes the leases of endpoints of the scope that are still free, and returns what a delivery needs. Each claim raises the token.
create function claim_webhook_endpoints(workspace_ids bigint[], endpoint_ids bigint[], lease_ms integer)
  returns table (workspace_id bigint, id bigint, token bigint, url text, types text[], status text, sealed_secret bytea,
    previous_sealed_secret bytea, previous_valid_until timestamptz, cursor_event_id bigint, consecutive_failures integer)
  language sql security definer set search_path = banking, pg_temp as $$
  with free as (
    select e.workspace_id, e.id
    from unnest(workspace_ids, endpoint_ids) u (workspace_id, id)
    join webhook_endpoint e on e.workspace_id = u.workspace_id and e.id = u.id
    where e.workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]) and e.deleted_at is null
      and e.status <> 'disabled' and coalesce(e.lease_until, '-infinity') <= clock_timestamp()
    for update of e skip locked)
  update webhook_endpoint e
  set lease_token = e.lease_token + 1, lease_until = clock_timestamp() + lease_ms * interval '1 ms'
  from free f
  where e.workspace_id = f.workspace_id and e.id = f.id
  returning e.workspace_id, e.id, e.lease_token, e.url, e.types, e.status, e.sealed_secret,
    case when e.previous_valid_until > clock_timestamp() then e.previous_sealed_secret end, e.previous_valid_until, e.cursor_event_id,
    e.consecutive_failures
$$;

-- Records the results of attempts and the failures since the last success, advances the cursor, and renews or ends the lease: it lasts for so many
-- milliseconds from now, and 0 ends it. A result without the id of a delivery is that of the first attempt for an event. A result `probe` is that of a
-- failed request for an event that stays behind the cursor, and `missing` that of a delivery whose event was deleted. Returns no row if another worker has the lease, or the endpoint was deleted: then nothing is recorded.
create function record_webhook_attempts(
    workspace bigint, endpoint bigint, held_token bigint, cursor_to bigint, lease_ms integer, failures_in_a_row integer, failures_max integer,
    delivery_ids bigint[], event_ids bigint[], event_types text[], outcomes text[], started_ms_ago integer[], durations integer[],
    response_statuses integer[], responses text[], errors text[], retries_after_ms bigint[])
  returns table (status text, url text, types text[], previous_valid_until timestamptz, consecutive_failures integer)
  language plpgsql security definer set search_path = banking, pg_temp as $$
#variable_conflict use_column
declare
  former webhook_endpoint;
  is_success boolean;
  failures integer;
  is_gone boolean;
  next_status text;
begin
  select e.* into former from webhook_endpoint e
  where e.workspace_id = workspace and workspace = any(nullif(current_setting('app.workspaces', true), '')::bigint[])
    and e.id = endpoint and e.lease_token = held_token and e.deleted_at is null
  for update;
  if not found then
    return;
  end if;

  insert into webhook_delivery (workspace_id, endpoint_id, event_id, event_type, kind, status, attempts, next_attempt_at, last_attempt_at,
                                last_duration_ms, last_response_status, last_response, last_error)
  select workspace, endpoint, r.event_id, r.event_type, 'event',
         case when r.outcome = 'delivered' then 'delivered' when r.retry_ms is null then 'failed' else 'pending' end, 1,
         case when r.outcome = 'failed' then clock_timestamp() + r.retry_ms * interval '1 ms' end,
         clock_timestamp() - r.ago * interval '1 ms', r.duration, r.response_status, r.response, r.error
  from unnest(delivery_ids, event_ids, event_types, outcomes, started_ms_ago, durations, response_statuses, responses, errors, retries_after_ms)
    with ordinality r (id, event_id, event_type, outcome, ago, duration, response_status, response, error, retry_ms, position)
  where r.id is null and r.outcome <> 'probe'
  order by r.event_id
  on conflict (workspace_id, endpoint_id, event_id) where kind = 'event' do nothing;

  update webhook_delivery d
  set status = case when r.outcome = 'delivered' then 'delivered' when r.retry_ms is null then 'failed' else 'pending' end,
      next_attempt_at = case when r.outcome = 'failed' then clock_timestamp() + r.retry_ms * interval '1 ms' end,
      attempts = d.attempts + case when r.outcome = 'missing' then 0 else 1 end,
      last_attempt_at = case when r.outcome = 'missing' then d.last_attempt_at else clock_timestamp() - r.ago * interval '1 ms' end,
      last_duration_ms = case when r.outcome = 'missing' then d.last_duration_ms else r.duration end,
      last_response_status = r.response_status, last_response = r.response, last_error = r.error
  from unnest(delivery_ids, outcomes, started_ms_ago, durations, response_statuses, responses, errors, retries_after_ms)
    r (id, outcome, ago, duration, response_status, response, error, retry_ms)
  where d.workspace_id = workspace and d.id = r.id and d.endpoint_id = endpoint and d.status = 'pending';

  select coalesce(bool_or(r.outcome = 'delivered'), false), coalesce(bool_or(r.response_status = 410), false)
  into is_success, is_gone
  from unnest(outcomes, response_statuses) r (outcome, response_status);
  select count(*) into failures from unnest(outcomes) r (outcome) where r.outcome in ('failed', 'probe');

  consecutive_failures := failures_in_a_row;
  next_status := case
    when former.status = 'disabled' then 'disabled'
    when is_gone then 'disabled'
    when former.status = 'failing' and not is_success and failures > 0 and former.failing_since < clock_timestamp() - interval '5 days'
      then 'disabled'
    when consecutive_failures >= failures_max then 'failing'
    when is_success then 'enabled'
    else former.status end;
  update webhook_endpoint e
  set cursor_event_id = greatest(e.cursor_event_id, cursor_to), consecutive_failures = record_webhook_attempts.consecutive_failures,
      lease_until = clock_timestamp() + case
        -- The pause before the next request to an endpoint that fails doubles, from a second to five minutes.
        when lease_ms = 0 and next_status = 'failing' and failures > 0 then least(greatest(
          clock_timestamp() - coalesce(former.failing_since, clock_timestamp()), interval '1 second'), interval '5 minutes')
        else lease_ms * interval '1 ms' end
  where e.workspace_id = workspace and e.id = endpoint;
  -- An update of the status runs the trigger of the events.
  if next_status <> former.status then
    update webhook_endpoint e
    set status = next_status,
        disabled_reason = case when next_status = 'disabled' then case when is_gone then 'gone' else 'failing' end end,
        failing_since = case when next_status = 'failing' then clock_timestamp() when next_status = 'disabled' and not is_gone then e.failing_since end
    where e.workspace_id = workspace and e.id = endpoint;
  end if;
  status := next_status;
  url := former.url;
  types := former.types;
  previous_valid_until := former.previous_valid_until;
  return next;
end $$;

-- Replaces a sealed secret of the scope by the same one under another key, unless it was replaced meanwhile.
create function reseal_webhook_secret(workspace bigint, endpoint bigint, former bytea, sealed bytea) returns void
  language sql security definer set search_path = banking, pg_temp as $$
  update webhook_endpoint
  set sealed_secret = case when sealed_secret = former then sealed else sealed_secret end,
      previous_sealed_secret = case when previous_sealed_secret = former then sealed else previous_sealed_secret end
  where workspace_id = workspace and workspace = any(nullif(current_setting('app.workspaces', true), '')::bigint[])
    and id = endpoint and deleted_at is null and (sealed_secret = former or previous_sealed_secret = former)
$$;

-- The workspaces that have deliveries which are older than the kept time and ended, or whose endpoint was deleted: at most so many.
create function workspaces_with_old_deliveries(kept_days integer, workspaces_max integer) returns setof bigint
  language sql stable security definer set search_path = banking, pg_temp as $$
  select distinct e.workspace_id
  from webhook_endpoint e cross join (values ('delivered'), ('failed'), ('pending')) s (status)
  where (s.status <> 'pending' or e.deleted_at is not null)
    and (select d.created_at from webhook_delivery d
         where d.workspace_id = e.workspace_id and d.endpoint_id = e.id and d.status = s.status and d.id >= 1
         order by d.created_at, d.id limit 1) < statement_timestamp() - make_interval(days => kept_days)
    and (not exists (select from cell_identity)
      or (select c.state from cell_workspace c where c.workspace_id = e.workspace_id) = 'open')
  limit workspaces_max
$$;

-- Deletes such deliveries of the scope, at most so many of each endpoint and status. Returns how many.
create function delete_old_deliveries(kept_days integer, rows_max integer) returns integer
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  deleted integer;
begin
  if kept_days < 1 then
    raise exception 'deliveries are kept for a day at least' using errcode = 'BK003';
  end if;
  with old as (
    select l.workspace_id, l.id
    from webhook_endpoint e cross join (values ('delivered'), ('failed'), ('pending')) s (status)
    cross join lateral (
      select d.workspace_id, d.id from webhook_delivery d
      where d.workspace_id = e.workspace_id and d.endpoint_id = e.id and d.status = s.status and d.id >= 1
        and d.created_at < statement_timestamp() - make_interval(days => kept_days)
      order by d.created_at, d.id limit rows_max) l
    where e.workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[])
      and (s.status <> 'pending' or e.deleted_at is not null)),
  gone as (
    delete from webhook_delivery d using old o where d.workspace_id = o.workspace_id and d.id = o.id returning 1)
  select count(*) into deleted from gone;
  return deleted;
end $$;

-- For the metrics: endpoints by status, deliveries that are due, and the age of the oldest event that an endpoint has not passed. Up to
-- 10,000 due deliveries are counted.
create function webhook_backlog(out enabled integer, out failing integer, out disabled integer, out due integer, out oldest_seconds float8)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select count(*) filter (where e.status = 'enabled'), count(*) filter (where e.status = 'failing'),
         count(*) filter (where e.status = 'disabled'),
         (select count(*) from (
           select from webhook_delivery d where d.status = 'pending' and d.next_attempt_at <= statement_timestamp() limit 10000) d),
         coalesce(max(greatest(extract(epoch from statement_timestamp() - case when e.status = 'enabled' then (
           select v.created_at from event v where v.workspace_id = e.workspace_id and v.id > e.cursor_event_id order by v.id limit 1) end), 0)), 0)
  from webhook_endpoint e
  where e.deleted_at is null
    and (not exists (select from cell_identity)
      or (select c.state from cell_workspace c where c.workspace_id = e.workspace_id) = 'open')
$$;

-- Deletes events that are older than the kept time: at most so many are read, in the order of workspaces and times, from after a position.
-- Returns the next position; its workspace is null after the last one. The last event of a resource is kept unless its type is final, so
-- that the sequence of the resource goes on. An event that is still to be delivered to an endpoint is kept too.
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
               limit 1) is null
          and (o.type = any(final_types) or o.sequence < (
            select n.sequence from event n
            where n.workspace_id = after_workspace and n.resource_type = o.resource_type and n.resource_id = o.resource_id
            order by n.sequence desc limit 1))))
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

-- For the functions above that find endpoints of all workspaces. They run as the owner.
create policy found_by_worker on webhook_endpoint for select to banking_owner using (true);
create policy found_by_worker on webhook_delivery for select to banking_owner using (true);
create policy found_by_worker on event for select to banking_owner using (true);

revoke execute on function webhook_endpoints_due(integer), claim_webhook_endpoints(bigint[], bigint[], integer),
  record_webhook_attempts(bigint, bigint, bigint, bigint, integer, integer, integer, bigint[], bigint[], text[], text[], integer[], integer[], integer[],
    text[], text[], bigint[]),
  reseal_webhook_secret(bigint, bigint, bytea, bytea), workspaces_with_old_deliveries(integer, integer), delete_old_deliveries(integer, integer), webhook_backlog() from public;
grant execute on function webhook_endpoints_due(integer), claim_webhook_endpoints(bigint[], bigint[], integer),
  record_webhook_attempts(bigint, bigint, bigint, bigint, integer, integer, integer, bigint[], bigint[], text[], text[], integer[], integer[], integer[],
    text[], text[], bigint[]),
  reseal_webhook_secret(bigint, bigint, bytea, bytea), workspaces_with_old_deliveries(integer, integer), delete_old_deliveries(integer, integer), webhook_backlog() to banking_app;
