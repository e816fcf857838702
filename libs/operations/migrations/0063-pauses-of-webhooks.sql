-- The pause of an endpoint that fails is not a lease: a user who enables the endpoint, or requests a delivery, ends it, and a worker that
-- delivers keeps its lease.
-- Phase: expand

alter table webhook_endpoint add column paused_until timestamptz;
grant select (paused_until), update (paused_until) on webhook_endpoint to banking_app;

-- As before (0056), with the pause in its own column.
create or replace function record_webhook_attempts(
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
        failing_since = case when next_status = 'failing' then clock_timestamp() when next_status = 'disabled' and not is_gone then e.failing_since end
    where e.workspace_id = workspace and e.id = endpoint;
  end if;
  status := next_status;
  url := former.url;
  types := former.types;
  previous_valid_until := former.previous_valid_until;
  return next;
end $$;

-- As before (0057), and not during the pause.
create or replace function webhook_endpoints_due(endpoints_max integer) returns table (workspace_id bigint, id bigint)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select e.workspace_id, e.id from webhook_endpoint e
  where e.deleted_at is null and e.status <> 'disabled' and greatest(e.lease_until, e.paused_until, '-infinity') <= statement_timestamp()
    and (e.answered_url = e.url or coalesce(e.claimed_at, '-infinity') <= statement_timestamp() - interval '1 minute')
    and ((select v.id from event v where v.workspace_id = e.workspace_id order by v.id desc limit 1) > e.cursor_event_id
      or (select d.next_attempt_at from webhook_delivery d
          where d.workspace_id = e.workspace_id and d.endpoint_id = e.id and d.status = 'pending'
          order by d.next_attempt_at limit 1) <= statement_timestamp())
    and (not exists (select from cell_identity)
      or (select c.state from cell_workspace c where c.workspace_id = e.workspace_id) = 'open')
  order by e.lease_until nulls first
  limit endpoints_max
$$;

create or replace function claim_webhook_endpoints(workspace_ids bigint[], endpoint_ids bigint[], lease_ms integer)
  returns table (workspace_id bigint, id bigint, token bigint, url text, types text[], status text, sealed_secret bytea,
    previous_sealed_secret bytea, previous_valid_until timestamptz, cursor_event_id bigint, consecutive_failures integer)
  language sql security definer set search_path = banking, pg_temp as $$
  with free as (
    select e.workspace_id, e.id
    from unnest(workspace_ids, endpoint_ids) u (workspace_id, id)
    join webhook_endpoint e on e.workspace_id = u.workspace_id and e.id = u.id
    where e.workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]) and e.deleted_at is null
      and e.status <> 'disabled' and greatest(e.lease_until, e.paused_until, '-infinity') <= clock_timestamp()
      and (e.answered_url = e.url or coalesce(e.claimed_at, '-infinity') <= clock_timestamp() - interval '1 minute')
    for update of e skip locked)
  update webhook_endpoint e
  set lease_token = e.lease_token + 1, lease_until = clock_timestamp() + lease_ms * interval '1 ms', claimed_at = clock_timestamp()
  from free f
  where e.workspace_id = f.workspace_id and e.id = f.id
  returning e.workspace_id, e.id, e.lease_token, e.url, e.types, e.status, e.sealed_secret,
    case when e.previous_valid_until > clock_timestamp() then e.previous_sealed_secret end, e.previous_valid_until, e.cursor_event_id,
    e.consecutive_failures
$$;
