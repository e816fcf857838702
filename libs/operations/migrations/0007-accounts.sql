-- Accounts as their owners open and change them, and the keys that make a repeated request one.

create index customer_account_by_time on account (workspace_id, created_at desc, id desc) where kind = 'customer';

-- Who gave an account its alias or its status, and when. Written by the trigger alone.
create sequence account_change_id_seq maxvalue 9007199254740991;
create table account_change (
  workspace_id bigint not null,
  id bigint not null default nextval('account_change_id_seq'),
  account_id bigint not null,
  changed_at timestamptz not null default statement_timestamp(),
  -- The user who asked; null for the deployment itself.
  changed_by bigint,
  before jsonb not null,
  after jsonb not null,
  primary key (workspace_id, id)
);
alter table account_change add constraint account_change_account
  foreign key (workspace_id, account_id) references account (workspace_id, id);

create function trail_account() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  insert into account_change (workspace_id, account_id, changed_by, before, after)
  values (new.workspace_id, new.id, nullif(current_setting('app.user', true), '')::bigint,
          jsonb_build_object('alias', old.alias, 'status', old.status),
          jsonb_build_object('alias', new.alias, 'status', new.status));
  return null;
end $$;
create trigger trail after update of alias, status on account for each row
  when (old.alias is distinct from new.alias or old.status is distinct from new.status)
  execute function trail_account();
create trigger append_only before update or delete on account_change for each row execute function refuse_change();
create trigger append_only_truncate before truncate on account_change for each statement execute function refuse_change();

-- The answer to a request that made something, in the database transaction that made it. Kept for 30 days.
create table idempotency (
  workspace_id bigint not null,
  -- The operation with the values of its path.
  operation text not null,
  key text not null,
  -- SHA-256 over the request in canonical JSON.
  fingerprint bytea not null check (length(fingerprint) = 32),
  -- The body as it was sent, to be sent again byte for byte.
  answer text not null,
  created_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, operation, key)
);
alter table idempotency add constraint idempotency_workspace foreign key (workspace_id) references workspace;
create index idempotency_by_age on idempotency (workspace_id, created_at);

alter table account_change enable row level security;
alter table account_change force row level security;
create policy workspaces on account_change
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));

-- An answer that is still good can be neither changed nor removed: it is what keeps one payment from becoming two.
alter table idempotency enable row level security;
alter table idempotency force row level security;
create policy readable on idempotency for select
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));
create policy kept on idempotency for insert
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));
create policy renewed_when_expired on idempotency for update
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[])
         and created_at <= statement_timestamp() - interval '30 days')
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));
create policy forgotten_when_expired on idempotency for delete
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[])
         and created_at <= statement_timestamp() - interval '30 days');

grant select on account_change to banking_app;
grant select, insert, delete on idempotency to banking_app;
grant update (fingerprint, answer, created_at) on idempotency to banking_app;
