-- More than one database: each is a cell, which holds whole workspaces. A database without a row in `cell_identity` is the only one of its
-- deployment, and its processes use nothing else of this migration.
-- Phase: expand

-- Which cell this database is. Cell 0 is home: it also has the directory and the places. Every sequence gives ids of this remainder by 64.
create table cell_identity (
  -- At most one row.
  id boolean primary key default true check (id),
  number integer not null check (number between 0 and 63),
  name text not null check (name ~ '^[a-z][a-z0-9-]{0,30}$'),
  created_at timestamptz not null default now(),
  check ((number = 0) = (name = 'home'))
);
create trigger append_only before update or delete on cell_identity for each row execute function refuse_change();
create trigger append_only_truncate before truncate on cell_identity for each statement execute function refuse_change();

-- The cells of the deployment. Written at home. The other cells have copies.
create table cell (
  number integer primary key check (number between 0 and 63),
  name text not null unique,
  created_at timestamptz not null default now()
);

-- The cell of each workspace. Written at home. The other cells have copies.
create table workspace_place (
  workspace_id bigint primary key,
  cell_number integer not null,
  state text not null default 'open' check (state in ('open', 'moving')),
  created_at timestamptz not null default now()
);
alter table workspace_place add constraint workspace_place_workspace foreign key (workspace_id) references workspace;
alter table workspace_place add constraint workspace_place_cell foreign key (cell_number) references cell;

-- The workspace of each code of an account, unique over all cells. Written at home before the account is opened in its cell.
create table account_place (
  code text primary key,
  workspace_id bigint not null,
  created_at timestamptz not null default now()
);

-- The workspaces that this database serves. It decides, whatever a process has remembered of the places.
create table cell_workspace (
  workspace_id bigint primary key,
  state text not null default 'open' check (state in ('open', 'moving', 'gone')),
  created_at timestamptz not null default now()
);
alter table cell_workspace add constraint cell_workspace_workspace foreign key (workspace_id) references workspace;

-- Returns the list of workspaces unchanged if this database serves all of them. A change of a state waits for the lock of each scope that
-- has seen the former state: with `pg_advisory_xact_lock` of the same key. The state is read after the lock.
-- It runs with each scope, so the usual list of one workspace is read without a set, and names have their schema instead of a setting.
create function require_open_workspaces(list text) returns text
  language plpgsql as $$
declare
  ids bigint[];
  is_open boolean := true;
begin
  if list = '' then
    return list;
  end if;
  ids := list::bigint[];
  if array_length(ids, 1) = 1 then
    perform pg_advisory_xact_lock_shared(banking.workspace_lock_key(ids[1]));
    is_open := exists (select from banking.cell_workspace c where c.workspace_id = ids[1] and c.state = 'open');
  elsif array_length(ids, 1) > 1 then
    perform pg_advisory_xact_lock_shared(banking.workspace_lock_key(w.id)) from unnest(ids) w (id);
    is_open := not exists (
      select from unnest(ids) w (id)
      where not exists (select from banking.cell_workspace c where c.workspace_id = w.id and c.state = 'open'));
  end if;
  if not is_open then
    raise exception 'a workspace of the scope is not open in this cell' using errcode = 'BK017';
  end if;
  return list;
end $$;

-- Below all keys that are positive, which leaves those to other locks.
create function workspace_lock_key(workspace_id bigint) returns bigint
  language sql immutable parallel safe
  return -4611686018427387904 + workspace_id;

-- Copies are written by replication, which does not run these triggers.
create function require_home() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if exists (select from cell_identity where number <> 0) then
    raise exception '% is written at home only', tg_table_name using errcode = 'BK018';
  end if;
  return null;
end $$;
create trigger written_at_home before insert or update or delete on app for each statement execute function require_home();
create trigger written_at_home before insert or update or delete on app_user for each statement execute function require_home();
create trigger written_at_home before insert or update or delete on user_identity for each statement execute function require_home();
create trigger written_at_home before insert or update or delete on app_membership for each statement execute function require_home();
create trigger written_at_home before insert or update or delete on workspace for each statement execute function require_home();
create trigger written_at_home before insert or update or delete on workspace_role for each statement execute function require_home();
create trigger written_at_home before insert or update or delete on cell for each statement execute function require_home();
create trigger written_at_home before insert or update or delete on workspace_place for each statement execute function require_home();
create trigger written_at_home before insert or update or delete on account_place for each statement execute function require_home();

-- A new workspace is open in the cell that it is placed in, at home at once and elsewhere as soon as the copy has its place.
create function open_placed_workspace() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  insert into cell_workspace (workspace_id)
  select new.workspace_id from cell_identity i where i.number = new.cell_number
  on conflict do nothing;
  return null;
end $$;
create trigger opened after insert on workspace_place for each row execute function open_placed_workspace();
alter table workspace_place enable always trigger opened;

alter table account_place enable row level security;
alter table account_place force row level security;
create policy readable on account_place for select using (true);
create policy workspaces on account_place for insert
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));

revoke execute on function require_open_workspaces(text), workspace_lock_key(bigint), require_home(),
  open_placed_workspace() from public;
grant execute on function require_open_workspaces(text), workspace_lock_key(bigint) to banking_app;
grant select on cell_identity, cell, workspace_place, cell_workspace, account_place to banking_app;
grant insert (code, workspace_id) on account_place to banking_app;
grant select on cell_identity, cell, workspace_place, cell_workspace to banking_provisioning;
grant insert (workspace_id, cell_number), delete on workspace_place to banking_provisioning;
grant insert (workspace_id), delete on cell_workspace to banking_provisioning;
