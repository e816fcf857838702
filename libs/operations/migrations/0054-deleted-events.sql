-- Deleted events: how far the events of each workspace were deleted because of their age. A reader whose cursor is before that is told.
-- A trigger writes it, so no code path can delete events without it.
-- Phase: expand

create table event_deletion (
  workspace_id bigint primary key,
  -- The greatest id of a deleted event. Events with smaller ids may be left: the last ones of resources that go on.
  last_id bigint not null check (last_id > 0)
);

create function note_deleted_events() returns trigger language plpgsql as $$
begin
  insert into event_deletion (workspace_id, last_id)
  select workspace_id, max(id) from gone group by workspace_id order by workspace_id
  on conflict (workspace_id) do update set last_id = greatest(event_deletion.last_id, excluded.last_id);
  return null;
end $$;
create trigger note_deleted_events after delete on event
  referencing old table as gone for each statement execute function note_deleted_events();

-- It only rises.
create trigger only_rises before update on event_deletion for each row
  when (new.last_id < old.last_id or new.workspace_id <> old.workspace_id) execute function refuse_change();
create trigger append_only before delete on event_deletion for each row execute function refuse_change();
create trigger append_only_truncate before truncate on event_deletion for each statement execute function refuse_change();

alter table event_deletion enable row level security;
alter table event_deletion force row level security;
create policy workspaces on event_deletion
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));

revoke execute on function note_deleted_events() from public;
grant select on event_deletion to banking_app;
