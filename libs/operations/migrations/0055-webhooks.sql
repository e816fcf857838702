-- Webhooks: the endpoints to which events are delivered, and the deliveries.
-- An endpoint has a cursor: the last event that was taken for it. In a workspace no event becomes visible before one with a smaller id
-- (0050), so the cursor misses none. Endpoints are deleted by a time, because events and deliveries name them.
-- Phase: expand

create sequence webhook_endpoint_id_seq maxvalue 9007199254740991;
create table webhook_endpoint (
  workspace_id bigint not null,
  id bigint not null default nextval('webhook_endpoint_id_seq'),
  url text not null check (length(url) <= 2048),
  -- Empty for all types.
  types text[] not null default '{}',
  description text,
  status text not null default 'enabled' check (status in ('enabled', 'failing', 'disabled')),
  disabled_reason text check (disabled_reason in ('user', 'gone', 'failing')),
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
  primary key (workspace_id, id),
  check ((status = 'disabled') = (disabled_reason is not null)),
  check ((deleted_at is null) = (sealed_secret is not null)),
  check ((previous_sealed_secret is null) = (previous_valid_until is null))
);
create index webhook_endpoint_by_time on webhook_endpoint (workspace_id, created_at desc, id desc) where deleted_at is null;
-- The cursor and the lease change often. They are in no index, so the row stays on its page.
alter table webhook_endpoint set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

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
  last_error text check (last_error in ('timeout', 'connection_failed', 'address_refused', 'tls_failed', 'response_too_large')),
  created_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, id),
  foreign key (workspace_id, endpoint_id) references webhook_endpoint (workspace_id, id),
  check ((kind = 'test') = (event_id is null)),
  check ((status = 'pending') = (next_attempt_at is not null)),
  check (num_nulls(last_attempt_at, last_duration_ms) in (0, 2)),
  check (attempts = 0 or last_attempt_at is not null)
);
create unique index webhook_delivery_of_event on webhook_delivery (workspace_id, endpoint_id, event_id) where kind = 'event';
-- As the indexes of other lists (0019): the condition holds for every row.
create index webhook_delivery_by_class on webhook_delivery (workspace_id, endpoint_id, status, created_at desc, id desc) where id >= 1;
-- Finds what is due for an endpoint.
create index webhook_delivery_due on webhook_delivery (workspace_id, endpoint_id, next_attempt_at) where status = 'pending';
-- Finds the events that are still to be delivered, which are not deleted.
create index webhook_delivery_of_pending on webhook_delivery (workspace_id, event_id) where status = 'pending';
alter table webhook_delivery set (
  autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);

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

-- A new secret. The former one signs too for a day. The app role cannot read a sealed secret, so the owner copies it.
create function rotate_webhook_secret(endpoint bigint, sealed bytea) returns void
  language sql security definer set search_path = banking, pg_temp as $$
  update webhook_endpoint
  set previous_sealed_secret = sealed_secret, previous_valid_until = statement_timestamp() + interval '24 hours',
      sealed_secret = sealed
  where workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]) and id = endpoint and deleted_at is null
$$;

create trigger note_webhook_endpoint
  after insert or update of url, types, description, status, previous_valid_until, deleted_at on webhook_endpoint
  for each row execute function note_webhook_endpoint();

alter table webhook_endpoint enable row level security;
alter table webhook_endpoint force row level security;
create policy workspaces on webhook_endpoint
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));
alter table webhook_delivery enable row level security;
alter table webhook_delivery force row level security;
create policy workspaces on webhook_delivery
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));

revoke execute on function note_webhook_endpoint(), rotate_webhook_secret(bigint, bytea) from public;
-- All columns but the sealed secrets.
grant select (workspace_id, id, url, types, description, status, disabled_reason, previous_valid_until, cursor_event_id, consecutive_failures,
  failing_since, lease_until, lease_token, created_by, created_at, deleted_at) on webhook_endpoint to banking_app;
grant insert (workspace_id, id, url, types, description, sealed_secret, cursor_event_id, created_by) on webhook_endpoint to banking_app;
grant update (url, types, description, status, disabled_reason, consecutive_failures, failing_since, sealed_secret, previous_sealed_secret,
  previous_valid_until, deleted_at) on webhook_endpoint to banking_app;
grant usage on sequence webhook_endpoint_id_seq, webhook_delivery_id_seq to banking_app;
grant select on webhook_delivery to banking_app;
grant insert (workspace_id, id, endpoint_id, event_id, event_type, kind, next_attempt_at) on webhook_delivery to banking_app;
grant update (status, next_attempt_at) on webhook_delivery to banking_app;
grant execute on function rotate_webhook_secret(bigint, bytea) to banking_app;
