-- The audit trail: who changed what, from where, and with which credential.
-- An operation writes its entries into the outbox, in the database transaction of the change. A recorder of the worker moves them into
-- `audit_event` and chains them, a workspace at a time under one lock. So no order waits for the chain, and a batch writes one row for
-- each of its workspaces.
-- Phase: expand

create sequence audit_outbox_id_seq maxvalue 9007199254740991;
create table audit_outbox (
  workspace_id bigint not null,
  id bigint not null default nextval('audit_outbox_id_seq'),
  -- For each entry its operation, outcome, reason, count, resource, user, actor, request and source address.
  entries jsonb not null check (jsonb_typeof(entries) = 'array'),
  created_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, id)
);
-- Finds what is not recorded, of every workspace.
create index audit_outbox_by_id on audit_outbox (id);
-- Deleted rows leave dead index entries until a vacuum, as in `work`.
alter table audit_outbox set (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.05, vacuum_truncate = off);

create table audit_event (
  workspace_id bigint not null,
  -- 1, 2, 3 … in each workspace, so a missing entry is seen.
  id bigint not null check (id > 0),
  operation text not null,
  outcome text not null check (outcome in ('done', 'refused')),
  reason text check ((reason is not null) = (outcome = 'refused')),
  -- How many requests were refused.
  count integer not null check (count > 0),
  resource_type text,
  resource_id bigint,
  user_id bigint,
  actor jsonb not null check (actor ->> 'type' in ('user', 'operator', 'network', 'system')),
  request_id text,
  source_address text,
  -- The time of the change.
  created_at timestamptz not null,
  hash text not null check (hash ~ '^[0-9a-f]{64}$'),
  primary key (workspace_id, id),
  check ((resource_type is null) = (resource_id is null))
);
-- As the indexes of other lists (0019): each condition holds for every row that a page by the index may show.
create index audit_event_by_class on audit_event (workspace_id, operation, created_at desc, id desc) where id >= 1;
create index audit_event_of_user on audit_event (workspace_id, user_id, operation, created_at desc, id desc) where user_id is not null;
create index audit_event_of_resource on audit_event (workspace_id, resource_id, operation, created_at desc, id desc)
  where resource_id is not null;
-- Rows are inserted and, years later, deleted: without inserts of its own, autovacuum would not freeze them in time.
alter table audit_event set (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

-- The ends of the chain of a workspace: the last entry that was deleted because of its age, and the last entry.
create table audit_head (
  workspace_id bigint primary key,
  start_id bigint not null default 0,
  start_hash text not null default repeat('0', 64),
  id bigint not null,
  hash text not null,
  check (id >= start_id)
);

-- What the hash of an entry covers, besides the hash before it.
create function audit_content(
  workspace_id bigint, id bigint, operation text, outcome text, reason text, count integer, resource_type text, resource_id bigint,
  user_id bigint, actor jsonb, request_id text, source_address text, created_at timestamptz) returns jsonb
  language sql stable
  return jsonb_build_array(workspace_id, id, operation, outcome, reason, count, resource_type, resource_id, user_id, actor, request_id,
    source_address, rfc3339(created_at));

create function next_audit_hash(state text, start text, content jsonb) returns text
  language sql immutable parallel safe
  return encode(sha256(convert_to(coalesce(state, start) || content::text, 'UTF8')), 'hex');

-- The hash of each entry of a window, from the hash before the first.
create aggregate audit_chain (start text, content jsonb) (sfunc = next_audit_hash, stype = text);

-- The workspaces of the oldest rows of the outbox. Without cells, this database serves all.
create function workspaces_to_audit(rows_max integer) returns setof bigint
  language sql stable security definer set search_path = banking, pg_temp as $$
  select distinct o.workspace_id from (select workspace_id from audit_outbox order by id limit rows_max) o
  where not exists (select from cell_identity)
    or exists (select from cell_workspace c where c.workspace_id = o.workspace_id and c.state = 'open')
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
           e.entry ->> 'reason' as reason, coalesce((e.entry ->> 'count')::integer, 1) as count, e.entry ->> 'resourceType' as resource_type,
           (e.entry ->> 'resourceId')::bigint as resource_id, (e.entry ->> 'userId')::bigint as user_id, e.entry -> 'actor' as actor,
           e.entry ->> 'requestId' as request_id, e.entry ->> 'sourceAddress' as source_address, e.created_at,
           coalesce(h.hash, repeat('0', 64)) as start
    from entry e left join audit_head h on h.workspace_id = e.workspace_id),
  chained as (
    insert into audit_event (workspace_id, id, operation, outcome, reason, count, resource_type, resource_id, user_id, actor, request_id,
                             source_address, created_at, hash)
    select n.workspace_id, n.id, n.operation, n.outcome, n.reason, n.count, n.resource_type, n.resource_id, n.user_id, n.actor, n.request_id,
           n.source_address, n.created_at,
           audit_chain(n.start, audit_content(n.workspace_id, n.id, n.operation, n.outcome, n.reason, n.count, n.resource_type, n.resource_id,
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
    select e.workspace_id, e.id, e.hash,
           bool_and(e.created_at < statement_timestamp() - make_interval(days => kept_days))
             over (partition by e.workspace_id order by e.id) as is_old
    from unnest(scope) w (id) cross join lateral (
      select * from audit_event l where l.workspace_id = w.id order by l.workspace_id, l.id limit rows_max) e),
  gone as (
    delete from audit_event e using oldest o
    where o.is_old and e.workspace_id = o.workspace_id and e.id = o.id
    returning e.workspace_id, e.id, e.hash),
  started as (
    update audit_head h set start_id = g.id, start_hash = g.hash
    from (select distinct on (workspace_id) workspace_id, id, hash from gone order by workspace_id, id desc) g
    where h.workspace_id = g.workspace_id)
  select count(*) into deleted from gone;
  return deleted;
end $$;

create trigger append_only before update on audit_event for each row execute function refuse_change();
create trigger kept_for_a_year before delete on audit_event for each row
  when (old.created_at > statement_timestamp() - interval '365 days') execute function refuse_change();
create trigger append_only_truncate before truncate on audit_event for each statement execute function refuse_change();
create trigger append_only before delete on audit_head for each row execute function refuse_change();
create trigger append_only_truncate before truncate on audit_head for each statement execute function refuse_change();
-- A row of the outbox is recorded or left.
create trigger append_only before update on audit_outbox for each row execute function refuse_change();
create trigger append_only_truncate before truncate on audit_outbox for each statement execute function refuse_change();

alter table audit_outbox enable row level security;
alter table audit_outbox force row level security;
create policy workspaces on audit_outbox
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));
-- For `workspaces_to_audit`, which runs as the owner.
create policy found_by_recorder on audit_outbox for select to banking_owner using (true);
alter table audit_event enable row level security;
alter table audit_event force row level security;
create policy workspaces on audit_event
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));
alter table audit_head enable row level security;
alter table audit_head force row level security;
create policy workspaces on audit_head
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));

revoke execute on function audit_chain(text, jsonb), next_audit_hash(text, text, jsonb), workspaces_to_audit(integer), record_audit(integer),
  audit_content(bigint, bigint, text, text, text, integer, text, bigint, bigint, jsonb, text, text, timestamptz),
  delete_audit_events(integer, integer) from public;
grant insert (workspace_id, entries) on audit_outbox to banking_app;
grant usage on sequence audit_outbox_id_seq to banking_app;
grant select on audit_event, audit_head to banking_app;
grant execute on function next_audit_hash(text, text, jsonb), workspaces_to_audit(integer), record_audit(integer),
  audit_content(bigint, bigint, text, text, text, integer, text, bigint, bigint, jsonb, text, text, timestamptz),
  delete_audit_events(integer, integer) to banking_app;
