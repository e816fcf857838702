-- What a verification of events reads besides them: changes that wait, the numbers of resources, and until when events were deleted.
-- Phase: expand

-- The greatest time of a deleted event, as `last_id` is the greatest id. Null if all were deleted before this migration: they were a day old.
alter table event_deletion add column last_at timestamptz;

create or replace function note_deleted_events() returns trigger language plpgsql as $$
begin
  insert into event_deletion (workspace_id, last_id, last_at)
  select workspace_id, max(id), max(created_at) from gone group by workspace_id order by workspace_id
  on conflict (workspace_id) do update
  set last_id = greatest(event_deletion.last_id, excluded.last_id),
      last_at = greatest(coalesce(event_deletion.last_at, statement_timestamp() - interval '1 day'), excluded.last_at);
  return null;
end $$;

-- The resources of a workspace of the scope that have changes which are not events yet. A new transaction may be an event of the one that it
-- returns.
create function unrecorded_resources(workspace bigint) returns table (resource_type text, resource_id bigint)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select o.resource_type, r.id
  from change_outbox o
    cross join lateral unnest(o.workspace_ids, o.resource_ids, o.first_ids) n (workspace_id, id, first_id)
    cross join lateral (values (n.id), (case when o.resource_type = 'transaction' then n.first_id end)) r (id)
  where n.workspace_id = workspace and r.id is not null
    and workspace = any(nullif(current_setting('app.workspaces', true), '')::bigint[])
  union
  select split_part(e.change ->> 1, '.', 1), (e.change ->> 2)::bigint
  from change_outbox o cross join lateral jsonb_array_elements(o.changes) e (change)
  where (e.change ->> 0)::bigint = workspace
    and workspace = any(nullif(current_setting('app.workspaces', true), '')::bigint[])
$$;

grant select on event_sequence to banking_app;
revoke execute on function unrecorded_resources(bigint) from public;
grant execute on function unrecorded_resources(bigint) to banking_app;
