-- Programs that call the service, and the keys that they call with. A service account is a row of `app_user`, so that roles, placers, trails
-- and pauses are those of a user. No role may read the hash of a key: a function with the rights of the owner finds it by its id.

create table service_account (
  workspace_id bigint not null,
  -- The id of its row of `app_user`, which is deleted with it.
  id bigint not null,
  name text not null check (char_length(name) between 1 and 140),
  -- Null: all that its roles allow.
  scopes text[] check (cardinality(scopes) > 0),
  -- The administrator. Null for an operator.
  created_by bigint,
  created_at timestamptz not null default statement_timestamp(),
  -- The last change of the name, the scopes or the roles.
  updated_at timestamptz not null default statement_timestamp(),
  deleted_at timestamptz,
  primary key (workspace_id, id)
);
create index service_account_by_time on service_account (workspace_id, created_at desc, id desc) where deleted_at is null;

create sequence service_account_key_id_seq maxvalue 9007199254740991;
create table service_account_key (
  workspace_id bigint not null,
  id bigint not null default nextval('service_account_key_id_seq'),
  service_account_id bigint not null,
  -- SHA-256 of the key.
  hash bytea not null check (length(hash) = 32),
  -- The networks that requests come from. Empty for all.
  networks cidr[] not null default '{}' check (cardinality(networks) <= 20),
  -- It only falls: a rotation ends the former key earlier.
  expires_at timestamptz,
  revoked_at timestamptz,
  -- The member who created it lost the role admin, and may know it.
  revoked_reason text check (revoked_reason = 'creator_without_role'),
  -- The begin of the minute.
  last_used_at timestamptz,
  created_by bigint,
  created_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, id),
  constraint service_account_key_reason check (revoked_reason is null or revoked_at is not null),
  constraint service_account_key_account foreign key (workspace_id, service_account_id) references service_account (workspace_id, id)
);
create index service_account_key_by_time on service_account_key (workspace_id, service_account_id, created_at desc, id desc)
  where revoked_at is null;
create index service_account_key_by_account on service_account_key (workspace_id, service_account_id, created_by);
create index service_account_key_by_creator on service_account_key (workspace_id, created_by) where created_by is not null;
-- Finds a key before its workspace is known. Ids come from one sequence.
create index service_account_key_by_id on service_account_key (id);

-- A service account reads and pays, in its own workspace. It never approves and never administers.
create function require_role_of_kind() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if exists (
    select from app_user u
    where u.id = new.user_id and u.kind = 'service_account'
      and (new.role not in ('viewer', 'member') or u.service_workspace_id <> new.workspace_id)) then
    raise exception 'a service account is viewer or member of its workspace' using errcode = 'BK031';
  end if;
  return new;
end $$;

create trigger role_of_kind before insert or update on workspace_role for each row execute function require_role_of_kind();

-- Who makes or changes a service account, or makes a key, administers its workspace at that moment, or is an operator. The roles of the
-- administrator are locked: a removal waits, or this sees it. It runs as the owner, because only functions of the owner write the tables.
create function require_administrator() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  by_user bigint := nullif(current_setting('app.user', true), '')::bigint;
begin
  if tg_relid not in ('banking.service_account'::regclass, 'banking.service_account_key'::regclass) then
    raise exception 'require_administrator runs for service accounts and their keys only' using errcode = 'BK013';
  end if;
  if tg_op = 'INSERT' and new.created_by is distinct from by_user
    or by_user is null and coalesce(current_setting('app.actor_type', true), '') <> 'operator' then
    raise exception 'service accounts and keys have an administrator or an operator who makes them' using errcode = 'BK031';
  end if;
  if by_user is not null then
    perform lock_role(by_user, new.workspace_id);
    if not has_role(by_user, new.workspace_id, 'admin') then
      raise exception 'only administrators make and change service accounts and keys' using errcode = 'BK031';
    end if;
  end if;
  return new;
end $$;

create trigger by_administrator before insert or update of name, scopes, updated_at on service_account
  for each row execute function require_administrator();
create trigger by_administrator before insert on service_account_key for each row execute function require_administrator();

-- An account is of the user that was made for it, and of no person: its keys act as that user. In another cell the copy of the user arrives
-- after it.
create function require_service_user() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if exists (select from app_user u where u.id = new.id and u.service_workspace_id is distinct from new.workspace_id) then
    raise exception 'a service account is of a user that was made for it' using errcode = 'BK031';
  end if;
  return new;
end $$;

create trigger of_service_user before insert on service_account for each row execute function require_service_user();

-- A key is of an account that is there and has a role. The lock is that of the account: a deletion and a removal of roles wait, or this sees
-- them.
create function require_account_of_key() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.service_account_key'::regclass or tg_op <> 'INSERT' then
    raise exception 'require_account_of_key runs before an INSERT into service_account_key only' using errcode = 'BK013';
  end if;
  perform from service_account s
  where s.workspace_id = new.workspace_id and s.id = new.service_account_id and s.deleted_at is null for key share;
  -- The copy of the user is there, because that of its role is.
  if not found or not exists (
    select from workspace_role r join app_user u on u.id = r.user_id
    where r.workspace_id = new.workspace_id and r.user_id = new.service_account_id and u.service_workspace_id = new.workspace_id) then
    raise exception 'a key belongs to a service account with a role' using errcode = 'BK031';
  end if;
  return new;
end $$;

create trigger of_account before insert on service_account_key for each row execute function require_account_of_key();

-- Revokes the valid keys of an account. One that has expired stays as it is: each rotation leaves one, and nothing bounds their number.
create function revoke_keys(of_workspace bigint, of_account bigint) returns setof service_account_key
  language sql set search_path = banking, pg_temp as $$
  update service_account_key set revoked_at = statement_timestamp()
  where workspace_id = of_workspace and service_account_id = of_account and revoked_at is null
    and coalesce(expires_at, 'infinity') > statement_timestamp()
  returning *
$$;

-- A service account without a role has no valid key, and does not get one back with another role. In another cell it runs when the copy of
-- the change arrives, where triggers of tables that are no copies do not.
create function revoke_keys_without_role() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  ended service_account_key;
begin
  if tg_relid <> 'banking.workspace_role'::regclass or tg_op <> 'DELETE' then
    raise exception 'revoke_keys_without_role runs after a DELETE from workspace_role only' using errcode = 'BK013';
  end if;
  if not hold_workspace(old.workspace_id) then
    return null;
  end if;
  perform set_config('app.workspaces', format('{%s}', old.workspace_id), true);
  if not exists (select from workspace_role r where r.workspace_id = old.workspace_id and r.user_id = old.user_id) then
    -- A new key waits, and then reads the roles again.
    perform from service_account s where s.workspace_id = old.workspace_id and s.id = old.user_id for update;
    for ended in select * from revoke_keys(old.workspace_id, old.user_id) loop
      if current_setting('session_replication_role') = 'replica' then
        perform tell_key(ended, 'revoked');
      end if;
    end loop;
  end if;
  perform set_config('app.workspaces', scope, true);
  return null;
end $$;

create trigger keys_need_role after delete on workspace_role for each row execute function revoke_keys_without_role();
alter table workspace_role enable always trigger keys_need_role;

-- A key stays revoked, and never lives longer than it was made for.
create trigger ends_once before update of expires_at, revoked_at on service_account_key for each row
  when (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at
    or coalesce(new.expires_at, 'infinity') > coalesce(old.expires_at, 'infinity'))
  execute function refuse_change();
create trigger deleted_once before update of deleted_at on service_account for each row
  when (old.deleted_at is not null and new.deleted_at is distinct from old.deleted_at) execute function refuse_change();

-- Events: ids only. Names, scopes and networks are in none.
create function tell_key(key service_account_key, happened text) returns void
  language sql set search_path = banking, pg_temp as $$
  insert into change_outbox (changes) values (jsonb_build_array(jsonb_build_array(key.workspace_id, 'key.' || happened, key.id,
    jsonb_build_object('serviceAccountId', key.service_account_id))))
$$;

create function note_service_account() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  type text;
begin
  if tg_op not in ('INSERT', 'UPDATE')
    or tg_relid not in ('banking.service_account'::regclass, 'banking.service_account_key'::regclass) then
    raise exception 'note_service_account runs after changes of service accounts and their keys only' using errcode = 'BK013';
  end if;
  if tg_relid = 'banking.service_account'::regclass then
    type := case when tg_op = 'INSERT' then 'created' when new.deleted_at is not null then 'deleted' else 'changed' end;
    insert into change_outbox (changes) values (jsonb_build_array(jsonb_build_array(new.workspace_id, 'serviceAccount.' || type, new.id,
      '{}'::jsonb)));
  else
    perform tell_key(new, case when tg_op = 'INSERT' then 'created' else 'revoked' end);
  end if;
  return null;
end $$;

create trigger note_new after insert on service_account for each row execute function note_service_account();
create trigger note_changed after update of updated_at, deleted_at on service_account for each row execute function note_service_account();
create trigger note_new after insert on service_account_key for each row execute function note_service_account();
create trigger note_revoked after update of revoked_at on service_account_key for each row
  when (old.revoked_at is null and new.revoked_at is not null) execute function note_service_account();

-- The directory has the user and the roles of a service account, at home; the cell of its workspace has the account and its keys. The
-- service may write neither but by these functions.

-- Begins a change at home: behind the lock of the directory, the caller administers the workspace, or is an operator.
create function begin_service_user_change(of_workspace bigint) returns void
  language plpgsql set search_path = banking, pg_temp as $$
declare
  by_user bigint := nullif(current_setting('app.user', true), '')::bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('banking.directory', 0));
  perform set_config('app.workspaces', array[of_workspace]::text, true);
  if (by_user is null and coalesce(current_setting('app.actor_type', true), '') <> 'operator'
      or by_user is not null and not has_role(by_user, of_workspace, 'admin')) is not false then
    raise exception 'only administrators make and change service accounts' using errcode = 'BK031';
  end if;
end $$;

-- Gives the user of a service account these roles and no others, and makes the user if none is named. Returns the user, and whether
-- anything changed.
create function put_service_user(of_workspace bigint, inout service_user bigint, with_roles text[], out is_changed boolean)
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  added bigint;
begin
  perform begin_service_user_change(of_workspace);
  -- Of a workspace of another cell, that has taken the approval.
  if is_served_here(of_workspace) then
    perform take_approval(of_workspace, 'serviceAccounts', jsonb_build_object('id', service_user), array['id', '{serviceAccountId}']);
  end if;
  if service_user is null then
    insert into app_user (kind, service_workspace_id) values ('service_account', of_workspace) returning id into service_user;
  elsif not exists (select from app_user u where u.id = service_user and u.service_workspace_id = of_workspace) then
    raise exception 'the workspace has no such service account' using errcode = 'BK031';
  end if;
  -- New roles first: between two roles, the account is never without one.
  insert into workspace_role (workspace_id, user_id, role)
  select of_workspace, service_user, w.role from unnest(with_roles) w (role)
  where not exists (select from workspace_role r where r.workspace_id = of_workspace and r.user_id = service_user and r.role = w.role);
  get diagnostics added = row_count;
  delete from workspace_role r where r.workspace_id = of_workspace and r.user_id = service_user and r.role <> all(with_roles);
  is_changed := found or added > 0;
  perform set_config('app.workspaces', scope, true);
end $$;

-- The deletion of the user removes its roles, which revokes its keys.
create function delete_service_user(of_workspace bigint, service_user bigint) returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
begin
  perform begin_service_user_change(of_workspace);
  delete from app_user u where u.id = service_user and u.service_workspace_id = of_workspace;
  perform set_config('app.workspaces', scope, true);
end $$;

-- The account of a user that was made for it. A trigger checks who calls, and row-level security the workspace.
create function add_service_account(of_workspace bigint, account bigint, named text, with_scopes text[]) returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  insert into service_account (workspace_id, id, name, scopes, created_by)
  values (of_workspace, account, named, with_scopes, nullif(current_setting('app.user', true), '')::bigint);
end $$;

-- Locks an account, so that two changes follow one another. Returns whether it is there.
create function lock_service_account(of_workspace bigint, account bigint) returns boolean
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  perform from service_account s where s.workspace_id = of_workspace and s.id = account and s.deleted_at is null for update;
  return found;
end $$;

-- Changes what is given of an account, and notes a change of its roles. Without a role, its keys end at once, before the copy of that arrives.
create function change_service_account(of_workspace bigint, account bigint, named text, with_scopes text[], are_roles_changed boolean,
  is_without_role boolean) returns void
  language sql security definer set search_path = banking, pg_temp as $$
  select revoke_keys(of_workspace, account) where is_without_role;
  update service_account s
  set name = coalesce(named, s.name), scopes = case when with_scopes is null then s.scopes else nullif(with_scopes, '{}') end,
    updated_at = statement_timestamp()
  where s.workspace_id = of_workspace and s.id = account and s.deleted_at is null
    and (are_roles_changed or named <> s.name or with_scopes is not null and nullif(with_scopes, '{}') is distinct from s.scopes);
$$;

-- Ends an account and its keys, before the directory does.
create function delete_service_account(of_workspace bigint, account bigint) returns void
  language sql security definer set search_path = banking, pg_temp as $$
  select revoke_keys(of_workspace, account);
  update service_account set deleted_at = statement_timestamp()
  where workspace_id = of_workspace and id = account and deleted_at is null;
$$;

-- The valid key of an id, and whether this database serves its workspace. It is the one look-up without a workspace. A key is valid only
-- while the user who created it, who may know it, is an active administrator, in whatever way that right is taken, and in each database.
-- A key of an operator has no such user.
create function find_key(of_id bigint) returns table (service_account_id bigint, hash bytea, scopes text[], networks text[],
  expires_at timestamptz, is_served boolean)
  language plpgsql stable security definer set search_path = banking, pg_temp as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  key service_account_key;
begin
  select k.* into key from service_account_key k
  where k.id = of_id and k.revoked_at is null and coalesce(k.expires_at, 'infinity') > clock_timestamp();
  -- The owner sees the roles of the scope.
  perform set_config('app.workspaces', coalesce(format('{%s}', key.workspace_id), ''), true);
  return query
    select key.service_account_id, key.hash, s.scopes, key.networks::text[], key.expires_at, is_served_here(key.workspace_id)
    from service_account s
    where s.workspace_id = key.workspace_id and s.id = key.service_account_id
      and (key.created_by is null or has_role(key.created_by, key.workspace_id, 'admin'));
  perform set_config('app.workspaces', scope, true);
end $$;

-- Notes the minute in which a key was used.
create function note_key_use(of_id bigint) returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  minute timestamptz := date_trunc('minute', clock_timestamp());
begin
  perform set_config('app.workspaces', coalesce((
    select format('{%s}', k.workspace_id) from service_account_key k where k.id = of_id and is_served_here(k.workspace_id)), ''), true);
  update service_account_key k set last_used_at = minute
  where k.id = of_id and (k.last_used_at is null or k.last_used_at < minute);
  perform set_config('app.workspaces', scope, true);
end $$;

-- The persons through whom a maker acts: the user itself, and for a service account those who created it or its keys.
create function persons_behind(of_workspace bigint, of_user bigint) returns setof bigint
  language sql stable set search_path = banking, pg_temp as $$
  select of_user where not exists (select from service_account s where s.workspace_id = of_workspace and s.id = of_user)
  union
  select s.created_by from service_account s
  where s.workspace_id = of_workspace and s.id = of_user and s.created_by is not null
  union
  select k.created_by from service_account_key k
  where k.workspace_id = of_workspace and k.service_account_id = of_user and k.created_by is not null
$$;
