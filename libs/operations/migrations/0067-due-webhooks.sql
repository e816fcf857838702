-- When each endpoint has something to do, so that a worker finds those that are due without reading the others. The time is kept in a table of
-- its own, because the cursor and the lease of an endpoint change often and stay out of every index.
-- What makes an endpoint due locks its row first, and then reads what others have committed. So of an event and the end of a session
-- at once, the later one sees the other.
-- Phase: expand

create table webhook_due (
  workspace_id bigint not null,
  endpoint_id bigint not null,
  -- `infinity` while there is nothing to do. During a lease, any time up to its end.
  due_at timestamptz not null,
  primary key (workspace_id, endpoint_id)
);
create index webhook_due_by_time on webhook_due (due_at);
alter table webhook_due set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

-- The end of the lease and of the pause. An endpoint whose address has not answered yet gets one request a minute. Without settings of its
-- own, so that the planner puts it into the statement.
create function webhook_free_at(e webhook_endpoint) returns timestamptz
  language sql stable as $$
  select greatest(e.lease_until, e.paused_until, '-infinity',
    case when e.answered_url is distinct from e.url then e.claimed_at + interval '1 minute' end)
$$;

-- When each endpoint has something to do. A scalar subquery is one index search; the planner might turn `exists` into a join that reads all events.
create view webhook_schedule with (security_invoker = true) as
  select e.workspace_id, e.id as endpoint_id,
         case when e.status = 'disabled' then 'infinity' else greatest(webhook_free_at(e),
           case when (select v.id from event v where v.workspace_id = e.workspace_id order by v.id desc limit 1) > e.cursor_event_id then '-infinity'
             else coalesce((
               select d.next_attempt_at from webhook_delivery d
               where d.workspace_id = e.workspace_id and d.endpoint_id = e.id and d.status = 'pending'
               order by d.next_attempt_at limit 1), 'infinity') end) end as due_at
  from webhook_endpoint e
  where e.deleted_at is null;

-- A change of an endpoint, a request for deliveries, and the end of a session make it due. The deliveries of the same statement are visible.
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

create trigger schedule_new after insert on webhook_endpoint for each row execute function schedule_webhook_endpoint();
-- What changes while a lease is held is scheduled when the session ends.
create trigger schedule_changed after update on webhook_endpoint for each row
  when (new.lease_until is null or new.lease_until <= clock_timestamp() or new.deleted_at is not null or new.status = 'disabled')
  execute function schedule_webhook_endpoint();
create trigger schedule_webhooks after insert on event referencing new table as fresh
  for each statement execute function schedule_webhooks_of_events();

-- As before (0063), of the endpoints that are due only.
create or replace function webhook_endpoints_due(endpoints_max integer) returns table (workspace_id bigint, id bigint)
  language sql stable security definer set search_path = banking, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off set enable_mergejoin = off as $$
  select d.workspace_id, d.endpoint_id
  from webhook_due d join webhook_endpoint e on e.workspace_id = d.workspace_id and e.id = d.endpoint_id
  where d.due_at <= statement_timestamp() and webhook_free_at(e) <= statement_timestamp() and e.deleted_at is null and e.status <> 'disabled'
    and (not exists (select from cell_identity)
      or (select c.state from cell_workspace c where c.workspace_id = d.workspace_id) = 'open')
  order by d.due_at
  limit endpoints_max
$$;

-- Makes due what should be, over all endpoints that are served here: a net for what no trigger saw, such as endpoints from before this
-- migration. It locks first and reads afterwards, as the triggers do. One at a time does it.
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
    and (not exists (select from cell_identity)
      or (select c.state from cell_workspace c where c.workspace_id = s.workspace_id) = 'open')
  order by s.workspace_id, s.endpoint_id
  on conflict (workspace_id, endpoint_id) do nothing;

  select array_agg(h.workspace_id), array_agg(h.endpoint_id) into workspaces, endpoints
  from (
    select d.workspace_id, d.endpoint_id
    from webhook_schedule s join webhook_due d on d.workspace_id = s.workspace_id and d.endpoint_id = s.endpoint_id
    where s.due_at < d.due_at
      and (not exists (select from cell_identity)
        or (select c.state from cell_workspace c where c.workspace_id = s.workspace_id) = 'open')
    order by d.workspace_id, d.endpoint_id
    for update of d) h;
  update webhook_due d set due_at = s.due_at
  from unnest(workspaces, endpoints) u (workspace_id, endpoint_id)
    join webhook_schedule s on s.workspace_id = u.workspace_id and s.endpoint_id = u.endpoint_id
  where d.workspace_id = u.workspace_id and d.endpoint_id = u.endpoint_id and s.due_at < d.due_at;
end $$;

-- As before (0063), with the time at which an endpoint is free.
create or replace function claim_webhook_endpoints(workspace_ids bigint[], endpoint_ids bigint[], lease_ms integer)
  returns table (workspace_id bigint, id bigint, token bigint, url text, types text[], status text, sealed_secret bytea,
    previous_sealed_secret bytea, previous_valid_until timestamptz, cursor_event_id bigint, consecutive_failures integer)
  language sql security definer set search_path = banking, pg_temp as $$
  with free as (
    select e.workspace_id, e.id
    from unnest(workspace_ids, endpoint_ids) u (workspace_id, id)
    join webhook_endpoint e on e.workspace_id = u.workspace_id and e.id = u.id
    where e.workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]) and e.deleted_at is null
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

revoke execute on function webhook_free_at(webhook_endpoint), schedule_webhook_endpoint(),
  schedule_webhooks_of_events(), webhook_endpoints_due(integer), wake_webhook_endpoints(),
  claim_webhook_endpoints(bigint[], bigint[], integer) from public;
grant execute on function wake_webhook_endpoints() to banking_app;
