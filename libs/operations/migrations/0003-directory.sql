-- Who may do what: apps, users and how they are recognised, workspaces and the roles in them, with a trail of every change.

create sequence app_id_seq maxvalue 9007199254740991;
create sequence app_user_id_seq maxvalue 9007199254740991;
create sequence workspace_id_seq maxvalue 9007199254740991;
create sequence workspace_role_id_seq maxvalue 9007199254740991;
create sequence directory_change_id_seq maxvalue 9007199254740991;

create table app (
  id bigint primary key default nextval('app_id_seq'),
  name text not null unique,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table app_user (
  id bigint primary key default nextval('app_user_id_seq'),
  -- In ASCII and small letters, so that one mailbox is one user and no look-alike of another script folds to it.
  email text not null unique check (email ~ '^[!-?[-~]+@[a-z0-9.-]+$'),
  status text not null default 'completed',
  user_type text not null default 'business' check (user_type in ('personal', 'business')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- The subject by which an issuer names a user. One subject for a user at each issuer: a second is refused.
create table user_identity (
  issuer text not null,
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

create table workspace (
  id bigint primary key default nextval('workspace_id_seq'),
  app_id bigint not null references app,
  name text not null,
  type text not null default 'business' check (type in ('personal', 'business')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (app_id, name)
);

create table workspace_role (
  workspace_id bigint not null,
  id bigint not null default nextval('workspace_role_id_seq'),
  user_id bigint not null,
  role text not null check (role in ('member', 'admin')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, user_id)
);
alter table workspace_role add constraint workspace_role_workspace foreign key (workspace_id) references workspace;
alter table workspace_role add constraint workspace_role_user foreign key (user_id) references app_user on delete cascade;
create index role_of_user on workspace_role (user_id);

-- Which account a code names: the one thing a workspace may find out about another. Read by all, written only for one's own.
create table account_code (
  code text primary key,
  workspace_id bigint not null,
  account_id bigint not null,
  currency_id integer not null
);
-- A code leads to the account that carries it and to no other.
alter table account add constraint account_carries_code unique (workspace_id, id, currency_id, code);
alter table account_code add constraint account_code_account
  foreign key (workspace_id, account_id, currency_id, code) references account (workspace_id, id, currency_id, code);

alter table account add constraint account_workspace foreign key (workspace_id) references workspace;

-- The trail: every change of the directory, by whoever makes it.
create table directory_change (
  id bigint primary key default nextval('directory_change_id_seq'),
  changed_at timestamptz not null default now(),
  changed_by text not null,
  relation text not null,
  action text not null,
  record jsonb not null
);
create function trail_directory() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_op = 'UPDATE' and old is not distinct from new then
    return null;
  end if;
  insert into directory_change (changed_by, relation, action, record)
  values (coalesce(nullif(current_setting('app.actor', true), ''), session_user), tg_table_name, lower(tg_op),
          case when tg_op = 'DELETE' then to_jsonb(old) else to_jsonb(new) end);
  return null;
end $$;
create trigger trail after insert or update or delete on app for each row execute function trail_directory();
create trigger trail after insert or update or delete on app_user for each row execute function trail_directory();
create trigger trail after insert or update or delete on user_identity for each row execute function trail_directory();
create trigger trail after insert or update or delete on app_membership for each row execute function trail_directory();
create trigger trail after insert or update or delete on workspace for each row execute function trail_directory();
create trigger trail after insert or update or delete on workspace_role for each row execute function trail_directory();

create trigger append_only before update or delete on directory_change for each row execute function refuse_change();
create trigger append_only_truncate before truncate on directory_change for each statement execute function refuse_change();

-- A user sees their own roles, which is how a scope comes about; all others only within the scope.
alter table workspace_role enable row level security;
alter table workspace_role force row level security;
create policy workspaces on workspace_role
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[])
         or user_id = nullif(current_setting('app.user', true), '')::bigint)
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));
alter table account_code enable row level security;
alter table account_code force row level security;
create policy readable on account_code for select using (true);
create policy workspaces on account_code for insert
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));

grant usage on sequence app_id_seq, app_user_id_seq, workspace_id_seq, workspace_role_id_seq to banking_app;
-- Who is who is written once: an e-mail, a subject or a workspace's app is not the program's to change afterwards.
grant select, insert on user_identity, app_membership to banking_app;
grant select, insert, delete on app, app_user, workspace, workspace_role to banking_app;
grant update (updated_at) on app_user to banking_app;
grant update (role, updated_at) on workspace_role to banking_app;
grant select, insert on account_code to banking_app;
