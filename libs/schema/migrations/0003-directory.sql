-- Who may do what: apps, users and how they are recognised, workspaces and the roles in them, and the database that serves each workspace.

create sequence app_id_seq maxvalue 9007199254740991;
create table app (
  id bigint primary key default nextval('app_id_seq'),
  name text not null unique,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create sequence app_user_id_seq maxvalue 9007199254740991;
create table app_user (
  id bigint primary key default nextval('app_user_id_seq'),
  kind text not null default 'person' check (kind in ('person', 'service_account')),
  -- In ASCII and small letters, so that one mailbox is one user and no look-alike of another script folds to it. A service account has none.
  email text check (email ~ '^[!-?[-~]+@[a-z0-9.-]+$') unique,
  -- Whether an operator or the identity provider vouches for the e-mail. Of a person who came by the code of an invitation alone, only the
  -- administrator who invited does: for no other workspace is that user whom the e-mail names.
  is_email_verified boolean not null default true,
  status text not null default 'completed',
  user_type text not null default 'business' check (user_type in ('personal', 'business')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Of a service account: the one workspace in which it has roles.
  service_workspace_id bigint,
  check ((kind = 'person') = (email is not null)),
  constraint app_user_of_workspace check ((kind = 'service_account') = (service_workspace_id is not null)),
  -- When its e-mail and its subjects became pseudonyms.
  erased_at timestamptz
);

-- The subject by which an issuer names a user. One subject for a user at each issuer: a second is refused.
create table user_identity (
  -- Not that of the keys of service accounts: a program is no person, and gets no roles of one.
  issuer text not null constraint user_identity_of_person check (issuer <> 'urn:banking:keys'),
  subject text not null,
  user_id bigint not null references app_user on delete cascade,
  bound_at timestamptz not null default now(),
  primary key (issuer, subject),
  unique (user_id, issuer)
);

create table app_membership (
  app_id bigint not null references app,
  user_id bigint not null references app_user on delete cascade,
  created_at timestamptz not null default now(),
  primary key (app_id, user_id)
);
create index membership_of_user on app_membership (user_id);

create sequence workspace_id_seq maxvalue 9007199254740991;
create table workspace (
  id bigint primary key default nextval('workspace_id_seq'),
  app_id bigint not null references app,
  name text not null,
  type text not null default 'business' check (type in ('personal', 'business')),
  -- Of the days and months of its limits: a name of the IANA database. A name that PostgreSQL does not know is refused.
  time_zone text not null default 'UTC',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (app_id, name),
  constraint workspace_time_zone check (
    time_zone ~ '^[A-Z][A-Za-z0-9_+/-]{1,63}$' and (timestamptz 'epoch' at time zone time_zone) is not null)
);

alter table app_user add constraint app_user_service_workspace foreign key (service_workspace_id) references workspace;

create sequence workspace_role_id_seq maxvalue 9007199254740991;
create table workspace_role (
  workspace_id bigint not null references workspace,
  id bigint not null default nextval('workspace_role_id_seq'),
  user_id bigint not null references app_user on delete cascade,
  -- One row for each role of a user: no role includes another.
  role text not null check (role in ('viewer', 'member', 'approver', 'admin')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, user_id, role)
);
create index role_of_user on workspace_role (user_id);
create index holder_of_role on workspace_role (workspace_id, role, user_id);

-- The roles that count: only a completed user has roles. With `offset 0` each user is found by its key, and no plan reads all users.
create view active_role with (security_invoker = true) as
select r.workspace_id, r.user_id, r.role, u.kind
from workspace_role r
cross join lateral (select s.status, s.kind from app_user s where s.id = r.user_id offset 0) u
where u.status = 'completed';

create function has_role(of_user bigint, in_workspace bigint, wanted text) returns boolean
  language sql stable set search_path = banking, pg_temp
  return exists (select from active_role a where a.workspace_id = in_workspace and a.user_id = of_user and a.role = wanted);

-- Keeps status and roles of a user as they are until the end of the database transaction. It runs as the owner, because a lock on a row
-- needs the right to change it. The user comes first, as where a user is removed with its roles.
create function lock_role(of_user bigint, in_workspace bigint) returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  perform from app_user where id = of_user for share;
  perform from workspace_role where user_id = of_user and workspace_id = in_workspace for key share;
end $$;

create sequence directory_change_id_seq maxvalue 9007199254740991;
-- The trail: every change of the directory, with who made it.
create table directory_change (
  id bigint primary key default nextval('directory_change_id_seq'),
  changed_at timestamptz not null default now(),
  changed_by text not null,
  relation text not null,
  action text not null,
  -- The row without its personal texts, and their salted digest as `personalDigest`.
  record jsonb not null,
  operating_system_user text,
  hash text not null,
  -- Its personal texts by their columns, such as `email`, and the salt of their digest. Both are null if it has none, or if they were erased.
  personal jsonb check (jsonb_typeof(personal) = 'object'),
  personal_salt bytea check (length(personal_salt) = 16),
  check ((personal is null) = (personal_salt is null))
);

-- The columns of the directory that name a person.
create function personal_columns_of_directory() returns text[]
  language sql immutable parallel safe
  return array['email', 'subject'];

-- The personal texts of an entry, as their digest covers them: jsonb has one text of each value.
create function directory_digest(salt bytea, personal jsonb) returns text
  language sql immutable parallel safe
  return encode(salted_digest(salt, array[personal::text]), 'hex');

create function next_audit_hash(state text, start text, content jsonb) returns text
  language sql immutable parallel safe
  return encode(sha256(convert_to(coalesce(state, start) || content::text, 'UTF8')), 'hex');

-- What the hash of an entry covers, besides the hash before it.
create function directory_content(entry directory_change) returns jsonb
  language sql stable
  return jsonb_build_array(entry.id, rfc3339(entry.changed_at), entry.changed_by, entry.operating_system_user, entry.relation, entry.action,
    entry.record);

-- One database transaction after the other changes the directory: without the lock, two entries would follow the same one.
create function chain_directory_change() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  previous text;
begin
  if tg_relid <> 'banking.directory_change'::regclass or tg_op <> 'INSERT' then
    raise exception 'chain_directory_change runs before an INSERT into directory_change only' using errcode = 'BK013';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('banking.directory', 0));
  if new.record ?| personal_columns_of_directory() then
    new.personal := new.record - array(select k from jsonb_object_keys(new.record) k where k <> all (personal_columns_of_directory()));
    new.personal_salt := uuid_send(gen_random_uuid());
    new.record := new.record - personal_columns_of_directory()
      || jsonb_build_object('personalDigest', directory_digest(new.personal_salt, new.personal));
  end if;
  -- Drawn behind the lock, so that ids are in the order of the chain.
  new.id := nextval('directory_change_id_seq');
  select d.hash into previous from directory_change d order by d.id desc limit 1;
  new.hash := next_audit_hash(previous, repeat('0', 64), directory_content(new));
  return new;
end $$;

create trigger chained before insert on directory_change for each row execute function chain_directory_change();

-- Entries of the directory's trail after an id, and whether each is as its hash says. Row-level security hides some of them from callers.
create function directory_chain(after_id bigint, rows_max integer) returns table (id bigint, hash text, is_as_hashed boolean)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select d.id, d.hash,
    d.hash = next_audit_hash(p.hash, repeat('0', 64), directory_content(d))
      and (d.personal is null or directory_digest(d.personal_salt, d.personal) is not distinct from d.record ->> 'personalDigest')
  from directory_change d
    left join lateral (select l.hash from directory_change l where l.id < d.id order by l.id desc limit 1) p on true
  where d.id > after_id order by d.id limit rows_max
$$;

create function directory_head() returns table (id bigint, hash text)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select d.id, d.hash from (select * from directory_change order by id desc limit 1) d
$$;

create function trail_directory() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  name text := case current_setting('app.actor_type', true) when 'operator' then operator_name() end;
  -- An administrator, who changes the directory by an operation.
  by_user bigint := case when name is null then nullif(current_setting('app.user', true), '')::bigint end;
  -- The user who changes the directory over the interface, as in the audit trail.
  caller jsonb := nullif(current_setting('app.caller', true), '')::jsonb;
  is_sign_in boolean := name is null and tg_relid = 'banking.user_identity'::regclass;
  changed jsonb;
  operation text;
  of_user bigint;
  ids bigint[];
begin
  if tg_relid not in ('banking.app'::regclass, 'banking.app_user'::regclass, 'banking.user_identity'::regclass,
                      'banking.app_membership'::regclass, 'banking.workspace'::regclass, 'banking.workspace_role'::regclass,
                      'banking.member'::regclass) then
    raise exception 'trail_directory runs for tables of the directory only' using errcode = 'BK013';
  end if;
  if tg_op = 'UPDATE' and old is not distinct from new then
    return null;
  end if;
  changed := case when tg_op = 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
  insert into directory_change (changed_by, operating_system_user, relation, action, record)
  values (coalesce('user ' || by_user, 'user ' || (caller ->> 'userId'), operator_name()), nullif(current_setting('app.operating_system_user', true), ''),
          tg_table_name, lower(tg_op), changed);

  -- The audit trails of the workspaces concerned. An app, a membership and a removed workspace concern none.
  operation := case tg_table_name || ' ' || lower(tg_op)
    when 'workspace insert' then 'addWorkspace'
    when 'workspace update' then case
      when to_jsonb(old) ->> 'time_zone' <> changed ->> 'time_zone' then 'setTimeZone' else 'renameWorkspace' end
    when 'workspace_role insert' then 'addGrant'
    when 'workspace_role update' then 'changeGrant'
    when 'workspace_role delete' then 'removeGrant'
    when 'user_identity insert' then 'bindUser'
    when 'app_user update' then case
      when (to_jsonb(old) ->> 'email', to_jsonb(old) ->> 'is_email_verified')
        is distinct from (changed ->> 'email', changed ->> 'is_email_verified') then 'renameUser'
      when changed ->> 'status' = 'suspended' then 'suspendUser'
      when to_jsonb(old) ->> 'status' = 'suspended' then 'resumeUser'
      when changed ->> 'status' = 'completed' then 'completeUser'
      else 'changeUser' end
    end;
  if operation is null then
    return null;
  end if;
  of_user := case tg_table_name when 'app_user' then changed ->> 'id' when 'workspace' then null else changed ->> 'user_id' end;
  if tg_table_name = 'workspace' then
    ids := array[(changed ->> 'id')::bigint];
  elsif tg_table_name = 'workspace_role' then
    ids := array[(changed ->> 'workspace_id')::bigint];
  else
    -- Of roles, the owner sees those of the scope.
    perform set_config('app.workspaces', coalesce((
      select array_agg(w.id)::text from app_membership m join workspace w on w.app_id = m.app_id where m.user_id = of_user), ''), true);
    select array_agg(distinct r.workspace_id) into ids from workspace_role r where r.user_id = of_user;
    perform set_config('app.workspaces', scope, true);
  end if;
  perform note_in_workspaces(ids, operation, case tg_table_name when 'workspace' then 'workspace' else 'user' end,
    coalesce(of_user, ids[1]),
    case when is_sign_in
      then jsonb_build_object('type', 'user', 'issuer', left(changed ->> 'issuer', 255), 'subject', left(changed ->> 'subject', 255))
      when by_user is not null then jsonb_build_object('type', 'user')
      when name is null and caller is not null then caller -> 'actor'
      else audit_operator() end,
    case when is_sign_in then of_user when by_user is not null then by_user when name is null then (caller ->> 'userId')::bigint end);
  return null;
end $$;

do $$
declare
  relation text;
begin
  foreach relation in array array['app', 'app_user', 'user_identity', 'app_membership', 'workspace', 'workspace_role'] loop
    execute format('create trigger trail after insert or update or delete on %I for each row execute function trail_directory()', relation);
  end loop;
end $$;

-- The cell of each workspace. Written at home. The other cells have copies.
create table workspace_place (
  workspace_id bigint primary key references workspace,
  cell_number integer not null,
  created_at timestamptz not null default now(),
  -- When it was last moved. Null while it is in its first cell.
  moved_at timestamptz,
  constraint workspace_place_cell foreign key (cell_number) references cell (number)
);

-- The workspace of each code of an account, unique over all cells. Written at home before the account is opened in its cell.
create table account_place (
  code text primary key,
  workspace_id bigint not null,
  created_at timestamptz not null default now()
);

-- The workspaces that this database serves. It decides, whatever a process has remembered of the places.
create table cell_workspace (
  workspace_id bigint primary key references workspace,
  state text not null default 'open' check (state in ('open', 'moving', 'gone')),
  created_at timestamptz not null default now()
);

-- Whether this database serves a workspace. Without cells, it serves all.
create function is_served_here(of_workspace bigint) returns boolean
  language sql stable
  return not exists (select from cell_identity)
    or exists (select from cell_workspace c where c.workspace_id = of_workspace and c.state = 'open');

-- Whether this database serves a workspace, and goes on to until the end of the database transaction: one that is being moved keeps its rows
-- as they are, in both cells. The lock is that of a scope, and the state is read behind it.
create function hold_workspace(of_workspace bigint) returns boolean
  language plpgsql set search_path = banking, pg_temp as $$
begin
  perform pg_advisory_xact_lock_shared(workspace_lock_key(of_workspace));
  return is_served_here(of_workspace);
end $$;

-- The last move of each workspace, at home. It is deleted when the rows of the former cell are removed.
create table workspace_move (
  workspace_id bigint primary key references workspace,
  source_number integer not null,
  target_number integer not null,
  -- The step that is being done, so that a later run of the command continues with it. `switched` is the first that cannot be abandoned.
  step text not null default 'prepare' check (step in ('prepare', 'follow', 'close', 'switched', 'done', 'abandon')),
  operator text not null check (char_length(operator) between 1 and 200),
  started_at timestamptz not null default statement_timestamp(),
  step_at timestamptz not null default statement_timestamp(),
  check (target_number <> source_number),
  constraint workspace_move_source foreign key (source_number) references cell (number),
  constraint workspace_move_target foreign key (target_number) references cell (number)
);

-- A number that the source of a move writes. When the target has it, it has all that the source wrote before.
create table move_mark (
  workspace_id bigint primary key,
  number bigint not null default 1
);

-- A new workspace is open in the cell that it is placed in, at home at once and elsewhere as soon as the copy has its place. One that has
-- moved is not new: a cell that learns of it later, because it was restored to an earlier moment, lacks its books.
create function open_placed_workspace() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  insert into cell_workspace (workspace_id)
  select new.workspace_id from cell_identity i where i.number = new.cell_number
  on conflict do nothing;
  return null;
end $$;

create trigger opened after insert on workspace_place for each row when (new.moved_at is null) execute function open_placed_workspace();

alter table workspace_place enable always trigger opened;

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

-- The column by whose values the rows of a table are compared with those of its copies: each row of a user or a workspace has one of few.
create function directory_column(relation text) returns text
  language sql immutable
  return case
    when relation in ('app', 'app_user', 'workspace') then 'id'
    when relation in ('app_membership', 'user_identity') then 'user_id'
    when relation in ('member', 'workspace_place', 'workspace_role') then 'workspace_id'
    when relation = 'cell' then 'number' end;

-- Digests of the rows of a table that the other cells copy, by the value of that column: what home and a copy are compared by. Whatever the
-- session has set, both give the same text of a row. It runs as the owner, because no role reads the roles of all workspaces.
create function directory_digests(relation text, after bigint, upto bigint, at_most integer)
  returns table (id bigint, digest text)
  language plpgsql stable security definer set search_path = banking, pg_temp
  set timezone = 'UTC' set datestyle = 'ISO' set bytea_output = 'hex' as $$
declare
  by_column text := directory_column(relation);
begin
  if by_column is null then
    raise exception '% is not copied to other cells', relation using errcode = '22023';
  end if;
  return query execute format(
    $sql$select t.%1$I::bigint, sum(('x' || left(md5(to_jsonb(t)::text), 16))::bit(64)::bigint::numeric)::text
      from %2$I t where t.%1$I > $1 and t.%1$I <= $2 group by t.%1$I order by t.%1$I limit $3$sql$, by_column, relation)
    using after, upto, at_most;
end $$;
