-- Webhooks: endpoints, the deliveries of events to them, and when each endpoint has something to do. No role may read a sealed
-- secret or change a cursor: functions with the rights of the owner do both, in the scope of the caller.

create sequence webhook_endpoint_id_seq maxvalue 9007199254740991;
create table webhook_endpoint (
  workspace_id bigint not null,
  id bigint not null default nextval('webhook_endpoint_id_seq'),
  url text not null check (length(url) <= 2048),
  -- Empty for all types.
  types text[] not null default '{}',
  description text,
  status text not null default 'enabled' check (status in ('enabled', 'failing', 'disabled')),
  disabled_reason text check (disabled_reason in ('user', 'gone', 'failing', 'owner_without_role')),
  -- Sealed for this workspace and endpoint.
  sealed_secret bytea,
  -- Signs too, until the time.
  previous_sealed_secret bytea,
  previous_valid_until timestamptz,
  cursor_event_id bigint not null,
  -- Failed attempts since the last success.
  consecutive_failures integer not null default 0 check (consecutive_failures >= 0),
  failing_since timestamptz,
  -- The worker that delivers. Its token only rises, as the fence of `work`.
  lease_until timestamptz,
  lease_token bigint not null default 0,
  created_by bigint,
  created_at timestamptz not null default statement_timestamp(),
  deleted_at timestamptz,
  -- The address that last answered with a status 2xx. Another address of the endpoint has never done so.
  answered_url text,
  claimed_at timestamptz,
  -- Tests, retries and replayed events that were requested for the endpoint on a day of UTC.
  requested_on date,
  requested_deliveries integer,
  paused_until timestamptz,
  primary key (workspace_id, id),
  check ((status = 'disabled') = (disabled_reason is not null)),
  check ((deleted_at is null) = (sealed_secret is not null)),
  check ((previous_sealed_secret is null) = (previous_valid_until is null))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
create index webhook_endpoint_by_time on webhook_endpoint (workspace_id, created_at desc, id desc) where deleted_at is null;

create sequence webhook_delivery_id_seq maxvalue 9007199254740991;
create table webhook_delivery (
  workspace_id bigint not null,
  id bigint not null default nextval('webhook_delivery_id_seq'),
  endpoint_id bigint not null,
  -- Null for a test.
  event_id bigint,
  event_type text not null,
  kind text not null check (kind in ('event', 'test', 'replay')),
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0 check (attempts >= 0),
  next_attempt_at timestamptz,
  last_attempt_at timestamptz,
  last_duration_ms integer check (last_duration_ms >= 0),
  last_response_status integer,
  -- The begin of the response, as text.
  last_response text check (length(last_response) <= 1024),
  last_error text check (last_error in ('timeout', 'connection_failed', 'tls_failed')),
  created_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, id),
  check ((kind = 'test') = (event_id is null)),
  check ((status = 'pending') = (next_attempt_at is not null)),
  check (num_nulls(last_attempt_at, last_duration_ms) in (0, 2)),
  check (attempts = 0 or last_attempt_at is not null),
  foreign key (workspace_id, endpoint_id) references webhook_endpoint (workspace_id, id)
) with (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
-- As in the indexes of other lists, the condition holds for every row.
create index webhook_delivery_by_class on webhook_delivery (workspace_id, endpoint_id, status, created_at desc, id desc) where id >= 1;
-- Finds what is due for an endpoint.
create index webhook_delivery_due on webhook_delivery (workspace_id, endpoint_id, next_attempt_at) where status = 'pending';
create unique index webhook_delivery_of_event on webhook_delivery (workspace_id, endpoint_id, event_id) where kind = 'event';
-- Finds the events that are still to be delivered, which are not deleted.
create index webhook_delivery_of_pending on webhook_delivery (workspace_id, event_id) where status = 'pending';

-- Events of endpoints: ids and statuses only. The address and the secret are in none.
create function note_webhook_endpoint() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.webhook_endpoint'::regclass or tg_op not in ('INSERT', 'UPDATE') then
    raise exception 'note_webhook_endpoint runs after a change of webhook_endpoint only' using errcode = 'BK013';
  end if;
  if tg_op = 'INSERT' then
    insert into change_outbox (changes) values (jsonb_build_array(jsonb_build_array(new.workspace_id, 'webhookEndpoint.created', new.id,
      jsonb_build_object('status', jsonb_build_object('before', null, 'after', new.status)))));
    return null;
  end if;
  insert into change_outbox (changes)
  select jsonb_agg(change)
  from (select jsonb_build_array(new.workspace_id, 'webhookEndpoint.changed', new.id, '{}'::jsonb) as change
        where new.deleted_at is null
          and ((old.url, old.types, old.description) is distinct from (new.url, new.types, new.description)
            -- The secret was rotated.
            or new.previous_valid_until > coalesce(old.previous_valid_until, '-infinity'))
        union all
        select jsonb_build_array(new.workspace_id, 'webhookEndpoint.' || new.status, new.id,
                 jsonb_build_object('status', jsonb_build_object('before', old.status, 'after', new.status)))
        where old.status <> new.status
        union all
        select jsonb_build_array(new.workspace_id, 'webhookEndpoint.deleted', new.id, '{}'::jsonb)
        where old.deleted_at is null and new.deleted_at is not null) c
  having count(*) > 0;
  return null;
end $$;

create trigger note_webhook_endpoint
  after insert or update of url, types, description, status, previous_valid_until, deleted_at on webhook_endpoint
  for each row execute function note_webhook_endpoint();

-- A new secret. The former one signs too for a day. No role may read a sealed secret, so the owner copies it.
create function rotate_webhook_secret(endpoint bigint, sealed bytea) returns void
  language sql security definer set search_path = banking, pg_temp as $$
  update webhook_endpoint
  set previous_sealed_secret = sealed_secret, previous_valid_until = statement_timestamp() + interval '24 hours',
      sealed_secret = sealed
  where workspace_id = any((select nullif(current_setting('app.workspaces', true), '')::bigint[])::bigint[]) and id = endpoint and deleted_at is null
$$;

-- Replaces a sealed secret of the scope by the same one under another key, unless it was replaced meanwhile.
create function reseal_webhook_secret(workspace bigint, endpoint bigint, former bytea, sealed bytea) returns void
  language sql security definer set search_path = banking, pg_temp as $$
  update webhook_endpoint
  set sealed_secret = case when sealed_secret = former then sealed else sealed_secret end,
      previous_sealed_secret = case when previous_sealed_secret = former then sealed else previous_sealed_secret end
  where workspace_id = workspace and workspace = any(nullif(current_setting('app.workspaces', true), '')::bigint[])
    and id = endpoint and deleted_at is null and (sealed_secret = former or previous_sealed_secret = former)
$$;

-- The sealed secrets in use, also of disabled endpoints, with the key that each of them names.
create view webhook_secret with (security_invoker = true) as
  select e.workspace_id, e.id as endpoint_id, s.sealed, split_part(encode(s.sealed, 'escape'), ':', 2) as key
  from webhook_endpoint e cross join lateral (values
    (e.sealed_secret), (case when e.previous_valid_until > statement_timestamp() then e.previous_sealed_secret end)) s (sealed)
  where e.deleted_at is null and s.sealed is not null
    and is_served_here(e.workspace_id);

-- Those that one of these keys sealed, of at most so many endpoints behind an endpoint.
create function webhook_secrets_of_keys(keys text[], after_workspace bigint, after_endpoint bigint, endpoints_max integer)
  returns table (workspace_id bigint, endpoint_id bigint, sealed_secrets bytea[])
  language sql stable security definer set search_path = banking, pg_temp as $$
  select s.workspace_id, s.endpoint_id, array_agg(s.sealed)
  from webhook_secret s
  where s.key = any(keys) and (s.workspace_id, s.endpoint_id) > (after_workspace, after_endpoint)
  group by s.workspace_id, s.endpoint_id order by s.workspace_id, s.endpoint_id limit endpoints_max
$$;

-- How many secrets each key seals, by which an operator knows whether a key can be removed.
create function count_webhook_secrets() returns table (key text, secrets integer)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select s.key, count(*) from webhook_secret s group by s.key order by s.key
$$;

-- The end of the lease and of the pause. An endpoint whose address has not answered yet gets one request a minute. Without settings of its
-- own, so that the planner puts it into the statement.
create function webhook_free_at(e webhook_endpoint) returns timestamptz
  language sql stable as $$
  select greatest(e.lease_until, e.paused_until, '-infinity',
    case when e.answered_url is distinct from e.url then e.claimed_at + interval '1 minute' end)
$$;

create table webhook_due (
  workspace_id bigint not null,
  endpoint_id bigint not null,
  -- `infinity` while there is nothing to do. During a lease, any time up to its end.
  due_at timestamptz not null,
  primary key (workspace_id, endpoint_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
create index webhook_due_by_time on webhook_due (due_at);

-- When each endpoint has something to do. A scalar subquery is one index search; the planner might turn `exists` into a join that reads
-- all events.
create view webhook_schedule with (security_invoker = true) as
  select e.workspace_id, e.id as endpoint_id,
         case when e.status = 'disabled' then 'infinity' else greatest(webhook_free_at(e),
           case when (select v.id from event v where v.workspace_id = e.workspace_id order by v.id desc limit 1) > e.cursor_event_id
             then '-infinity'
             else coalesce((
               select d.next_attempt_at from webhook_delivery d
               where d.workspace_id = e.workspace_id and d.endpoint_id = e.id and d.status = 'pending'
               order by d.next_attempt_at limit 1), 'infinity') end) end as due_at
  from webhook_endpoint e
  where e.deleted_at is null;

-- A change of an endpoint, a request for deliveries, and the end of a session make it due. The deliveries of the same statement are
-- visible.
create function schedule_webhook_endpoint() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.webhook_endpoint'::regclass or tg_op not in ('INSERT', 'UPDATE') then
    raise exception 'schedule_webhook_endpoint runs after a change of webhook_endpoint only' using errcode = 'BK013';
  end if;
  if new.deleted_at is not null then
    delete from webhook_due d where d.workspace_id = new.workspace_id and d.endpoint_id = new.id;
    return null;
  end if;
  insert into webhook_due as d (workspace_id, endpoint_id, due_at) values (new.workspace_id, new.id, '-infinity')
  on conflict (workspace_id, endpoint_id) do update set due_at = d.due_at where false;
  update webhook_due d set due_at = s.due_at from webhook_schedule s
  where d.workspace_id = new.workspace_id and d.endpoint_id = new.id and s.workspace_id = d.workspace_id and s.endpoint_id = d.endpoint_id
    and d.due_at <> s.due_at;
  return null;
end $$;

-- Events make the endpoints of their workspaces due, in the order of their keys, so that two that wait do not wait for each other. An
-- endpoint that is delivered to has a time up to the end of its lease already, and its session ends with the trigger above.
create function schedule_webhooks_of_events() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  workspaces bigint[];
begin
  if tg_relid <> 'banking.event'::regclass or tg_op <> 'INSERT' or tg_level <> 'STATEMENT' then
    raise exception 'schedule_webhooks_of_events runs after an INSERT into event only' using errcode = 'BK013';
  end if;
  select array_agg(distinct f.workspace_id) into workspaces from fresh f;
  perform from webhook_due d where d.workspace_id = any(workspaces) order by d.workspace_id, d.endpoint_id for update;
  if found then
    update webhook_due d set due_at = s.due_at from webhook_schedule s
    where d.workspace_id = any(workspaces) and s.workspace_id = d.workspace_id and s.endpoint_id = d.endpoint_id and d.due_at > s.due_at;
  end if;
  return null;
end $$;

-- What changes while a lease is held is scheduled when the session ends.
create trigger schedule_changed after update on webhook_endpoint for each row
  when (new.lease_until is null or new.lease_until <= clock_timestamp() or new.deleted_at is not null or new.status = 'disabled')
  execute function schedule_webhook_endpoint();
create trigger schedule_new after insert on webhook_endpoint for each row execute function schedule_webhook_endpoint();
create trigger schedule_webhooks after insert on event referencing new table as fresh
  for each statement execute function schedule_webhooks_of_events();

-- Makes due what should be, over all endpoints that are served here: a net for what no trigger saw. It locks first and reads afterwards, as
-- the triggers do. One at a time does it.
create function wake_webhook_endpoints() returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  workspaces bigint[];
  endpoints bigint[];
begin
  if not pg_try_advisory_xact_lock(hashtextextended('banking.webhook_due', 0)) then
    return;
  end if;
  insert into webhook_due (workspace_id, endpoint_id, due_at)
  select s.workspace_id, s.endpoint_id, s.due_at
  from webhook_schedule s left join webhook_due d on d.workspace_id = s.workspace_id and d.endpoint_id = s.endpoint_id
  where d.due_at is null
    and is_served_here(s.workspace_id)
  order by s.workspace_id, s.endpoint_id
  on conflict (workspace_id, endpoint_id) do nothing;

  select array_agg(h.workspace_id), array_agg(h.endpoint_id) into workspaces, endpoints
  from (
    select d.workspace_id, d.endpoint_id
    from webhook_schedule s join webhook_due d on d.workspace_id = s.workspace_id and d.endpoint_id = s.endpoint_id
    where s.due_at < d.due_at
      and is_served_here(s.workspace_id)
    order by d.workspace_id, d.endpoint_id
    for update of d) h;
  update webhook_due d set due_at = s.due_at
  from unnest(workspaces, endpoints) u (workspace_id, endpoint_id)
    join webhook_schedule s on s.workspace_id = u.workspace_id and s.endpoint_id = u.endpoint_id
  where d.workspace_id = u.workspace_id and d.endpoint_id = u.endpoint_id and s.due_at < d.due_at;
end $$;

-- The endpoints for which there is something to do.
create function webhook_endpoints_due(endpoints_max integer) returns table (workspace_id bigint, id bigint)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select d.workspace_id, d.endpoint_id
  from webhook_due d join webhook_endpoint e on e.workspace_id = d.workspace_id and e.id = d.endpoint_id
  where d.due_at <= statement_timestamp() and webhook_free_at(e) <= statement_timestamp() and e.deleted_at is null
    and e.status <> 'disabled'
    and is_served_here(d.workspace_id)
  order by d.due_at
  limit endpoints_max
$$;

-- Takes the leases of endpoints of the scope that are free, and returns what a delivery needs. Each claim raises the token. A worker sends
-- without a database transaction, and one whose lease was taken by another records nothing.
create function claim_webhook_endpoints(workspace_ids bigint[], endpoint_ids bigint[], lease_ms integer)
  returns table (workspace_id bigint, id bigint, token bigint, url text, types text[], status text, sealed_secret bytea,
    previous_sealed_secret bytea, previous_valid_until timestamptz, cursor_event_id bigint, consecutive_failures integer)
  language sql security definer set search_path = banking, pg_temp as $$
  with free as (
    select e.workspace_id, e.id
    from unnest(workspace_ids, endpoint_ids) u (workspace_id, id)
    join webhook_endpoint e on e.workspace_id = u.workspace_id and e.id = u.id
    where e.workspace_id = any((select nullif(current_setting('app.workspaces', true), '')::bigint[])::bigint[]) and e.deleted_at is null
      and e.status <> 'disabled' and webhook_free_at(e) <= clock_timestamp()
    for update of e skip locked)
  update webhook_endpoint e
  set lease_token = e.lease_token + 1, lease_until = clock_timestamp() + lease_ms * interval '1 ms', claimed_at = clock_timestamp()
  from free f
  where e.workspace_id = f.workspace_id and e.id = f.id
  returning e.workspace_id, e.id, e.lease_token, e.url, e.types, e.status, e.sealed_secret,
    case when e.previous_valid_until > clock_timestamp() then e.previous_sealed_secret end, e.previous_valid_until, e.cursor_event_id,
    e.consecutive_failures
$$;

-- Records the results of attempts and the failures since the last success, advances the cursor, and renews or ends the lease: it lasts for
-- so
-- many milliseconds from now, and 0 ends it. A result without the id of a delivery is that of the first attempt for an event. A result
-- `probe`
-- is that of a failed request for an event that stays behind the cursor, and `missing` that of a delivery whose event was deleted. Returns
-- no
-- row if another worker has the lease, or the endpoint was deleted: then nothing is recorded.
create function record_webhook_attempts(
    workspace bigint, endpoint bigint, held_token bigint, cursor_to bigint, lease_ms integer, failures_in_a_row integer,
      failures_max integer,
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
  from unnest(delivery_ids, event_ids, event_types, outcomes, started_ms_ago, durations, response_statuses, responses, errors,
    retries_after_ms)
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
      lease_until = clock_timestamp() + lease_ms * interval '1 ms',
      -- The pause before the next request to an endpoint that fails doubles, from a second to five minutes.
      paused_until = case when lease_ms = 0 and next_status = 'failing' and failures > 0 then clock_timestamp() + least(greatest(
        clock_timestamp() - coalesce(former.failing_since, clock_timestamp()), interval '1 second'), interval '5 minutes') end
  where e.workspace_id = workspace and e.id = endpoint;
  -- An update of the status runs the trigger of the events.
  if next_status <> former.status then
    update webhook_endpoint e
    set status = next_status,
        disabled_reason = case when next_status = 'disabled' then case when is_gone then 'gone' else 'failing' end end,
        failing_since = case when next_status = 'failing' then clock_timestamp() when next_status = 'disabled'
          and not is_gone then e.failing_since end
    where e.workspace_id = workspace and e.id = endpoint;
  end if;
  status := next_status;
  url := former.url;
  types := former.types;
  previous_valid_until := former.previous_valid_until;
  return next;
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
           select v.created_at from event v where v.workspace_id = e.workspace_id
             and v.id > e.cursor_event_id order by v.id limit 1) end), 0)), 0)
  from webhook_endpoint e
  where e.deleted_at is null
    and is_served_here(e.workspace_id)
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
    and is_served_here(e.workspace_id)
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
    where e.workspace_id = any((select nullif(current_setting('app.workspaces', true), '')::bigint[])::bigint[])
      and (s.status <> 'pending' or e.deleted_at is not null)),
  gone as (
    delete from webhook_delivery d using old o where d.workspace_id = o.workspace_id and d.id = o.id returning 1)
  select count(*) into deleted from gone;
  return deleted;
end $$;
