-- Limits of webhooks: a receiver that has never answered 2xx gets a request a minute at most, an endpoint belongs to an administrator, and a
-- workspace requests so many deliveries a day.
-- Phase: expand

alter table webhook_endpoint
  -- The address that last answered with a status 2xx. Another address of the endpoint has never done so.
  add column answered_url text,
  add column claimed_at timestamptz,
  -- Tests, retries and replayed events that were requested for the endpoint on a day of UTC.
  add column requested_on date,
  add column requested_deliveries integer;
alter table webhook_endpoint drop constraint webhook_endpoint_disabled_reason_check;
alter table webhook_endpoint add constraint webhook_endpoint_disabled_reason_check
  check (disabled_reason in ('user', 'gone', 'failing', 'owner_without_role')) not valid;

-- As before (0056), and an endpoint whose address has not answered yet is left for a minute.
create or replace function webhook_endpoints_due(endpoints_max integer) returns table (workspace_id bigint, id bigint)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select e.workspace_id, e.id from webhook_endpoint e
  where e.deleted_at is null and e.status <> 'disabled' and coalesce(e.lease_until, '-infinity') <= statement_timestamp()
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
      and e.status <> 'disabled' and coalesce(e.lease_until, '-infinity') <= clock_timestamp()
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

grant select (answered_url, requested_on, requested_deliveries), update (answered_url, created_by, requested_on, requested_deliveries)
  on webhook_endpoint to banking_app;
