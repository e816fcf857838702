-- The time that a workspace of a sandbox has come to, by which its orders run. Nobody reads it where there is no sandbox.

create table sandbox_clock (
  workspace_id bigint primary key,
  now timestamptz not null,
  -- Who moved it there; null for the deployment itself.
  moved_by bigint,
  moved_at timestamptz not null default statement_timestamp(),
  check (now between moved_at and moved_at + interval '100 years')
);
alter table sandbox_clock add constraint sandbox_clock_workspace foreign key (workspace_id) references workspace;

create function move_clock() returns trigger language plpgsql as $$
begin
  if new.workspace_id <> old.workspace_id or new.now < old.now then
    raise exception 'a clock goes forward only' using errcode = 'BK003';
  end if;
  return new;
end $$;
create trigger forward_only before update on sandbox_clock for each row execute function move_clock();
create trigger append_only before delete on sandbox_clock for each row execute function refuse_change();
create trigger append_only_truncate before truncate on sandbox_clock for each statement execute function refuse_change();

alter table sandbox_clock enable row level security;
alter table sandbox_clock force row level security;
create policy workspaces on sandbox_clock
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));

grant select on sandbox_clock to banking_app;
grant insert (workspace_id, now, moved_by) on sandbox_clock to banking_app;
grant update (now, moved_by, moved_at) on sandbox_clock to banking_app;
