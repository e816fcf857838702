-- Who belongs to a workspace: members, the roles that they have, and invitations.

create sequence member_id_seq maxvalue 9007199254740991;
-- A user who has, or had, roles in the workspace, or an invitation of an address that is no user yet. The roles of a user are in
-- workspace_role. Like them it is written at home, and the other cells have copies.
create table member (
  workspace_id bigint not null references workspace on delete cascade,
  id bigint not null default nextval('member_id_seq'),
  user_id bigint references app_user on delete cascade,
  -- Of an invitation. It is open while it has roles, and until it expires.
  email text check (email ~ '^[!-?[-~]+@[a-z0-9.-]+$'),
  roles text[] check (roles <@ array['viewer', 'member', 'approver', 'admin'] and cardinality(roles) > 0),
  -- SHA-256 of 256 random bits. It stays with the user who has accepted the invitation, who may repeat the request.
  code_hash bytea check (length(code_hash) = 32),
  expires_at timestamptz,
  -- The administrator who made the code of the invitation. It is open only while that user is one: see withdraw_invitations.
  invited_by bigint,
  -- The last change over the interface: its operation, its event, its time, and the caller as in the audit trail.
  change jsonb,
  created_at timestamptz not null default statement_timestamp(),
  updated_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, id),
  unique (workspace_id, user_id),
  constraint member_or_invitation check ((user_id is null) = (email is not null)),
  constraint member_invitation check (num_nonnulls(roles, expires_at) in (0, 2)
    and (roles is null or user_id is null and num_nulls(code_hash, invited_by) = 0))
);
create index member_by_time on member (workspace_id, created_at desc, id desc) where id >= 1;
create unique index invitation_of_email on member (workspace_id, email) where email is not null;
create unique index invitation_of_code on member (code_hash) where code_hash is not null;
create index open_invitation_by_email on member (email) where roles is not null;
create index open_invitation_by_maker on member (invited_by) where roles is not null;
create index member_of_user on member (user_id) where user_id is not null;

-- The status of a member. The roles of a user who is not completed do not count.
create function member_status(m member) returns text
  language sql stable set search_path = banking, pg_temp
  return case
    when m.user_id is null then case when m.roles is null then 'removed' else 'invited' end
    when not exists (select from workspace_role r where r.workspace_id = m.workspace_id and r.user_id = m.user_id) then 'removed'
    else (
      select case u.status when 'completed' then 'active' when 'pending' then 'invited' else 'suspended' end
      from app_user u where u.id = m.user_id) end;

-- Every person with a role is a member, however it was granted.
create function ensure_member() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if exists (select from app_user where id = new.user_id and kind = 'person')
    and not exists (select from member where workspace_id = new.workspace_id and user_id = new.user_id) then
    insert into member (workspace_id, user_id) values (new.workspace_id, new.user_id) on conflict (workspace_id, user_id) do nothing;
  end if;
  return null;
end $$;

create trigger is_member after insert on workspace_role for each row execute function ensure_member();

create trigger trail after insert or update or delete on member for each row execute function trail_directory();

-- Users leave a workspace an administrator, in any order of their changes: this runs at the commit, behind the lock of the directory,
-- which every change of it has taken. An operator may take the last one away.
create function keep_administrator() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  has_one boolean;
begin
  if tg_relid <> 'banking.workspace_role'::regclass or tg_op not in ('UPDATE', 'DELETE') then
    raise exception 'keep_administrator runs after a change of workspace_role only' using errcode = 'BK013';
  end if;
  if coalesce(current_setting('app.actor_type', true), '') = 'operator' then
    return null;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('banking.directory', 0));
  perform set_config('app.workspaces', array[old.workspace_id]::text, true);
  has_one := exists (select from active_role a where a.workspace_id = old.workspace_id and a.role = 'admin');
  perform set_config('app.workspaces', scope, true);
  if not has_one then
    raise exception 'a workspace keeps an administrator' using errcode = 'BK030';
  end if;
  return null;
end $$;

create constraint trigger administered_after_update after update on workspace_role deferrable initially deferred for each row
  when (old.role = 'admin' and (new.role, new.workspace_id) is distinct from (old.role, old.workspace_id))
  execute function keep_administrator();
create constraint trigger administered_after_delete after delete on workspace_role deferrable initially deferred for each row
  when (old.role = 'admin') execute function keep_administrator();

-- Tells of the last change over the interface, in the database that serves the workspace: with the change itself at home, and with its
-- copy in another cell.
create function note_member() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
begin
  if tg_relid <> 'banking.member'::regclass or tg_op not in ('INSERT', 'UPDATE') then
    raise exception 'note_member runs after a change of member only' using errcode = 'BK013';
  end if;
  if not hold_workspace(new.workspace_id) then
    return null;
  end if;
  perform set_config('app.workspaces', array[new.workspace_id]::text, true);
  insert into change_outbox (changes, user_id, actor_type)
  values (jsonb_build_array(jsonb_build_array(new.workspace_id, new.change ->> 'event', new.id, '{}'::jsonb)),
    (new.change ->> 'userId')::bigint, nullif(new.change -> 'actor' ->> 'type', 'user'));
  insert into audit_outbox (workspace_id, entries)
  values (new.workspace_id, jsonb_build_array(jsonb_strip_nulls(
    (new.change - array['event', 'at'])
      || jsonb_build_object('outcome', 'done', 'resourceType', 'member', 'resourceId', new.id))));
  perform set_config('app.workspaces', scope, true);
  return null;
end $$;

create trigger noted_insert after insert on member for each row when (new.change is not null) execute function note_member();
create trigger noted_update after update on member for each row
  when (new.change is not null and new.change is distinct from old.change) execute function note_member();
alter table member enable always trigger noted_insert, enable always trigger noted_update;

-- The change of a member, for its event and its entry in the audit trail.
create function tell_member(of_workspace bigint, of_member bigint, operation text, event text) returns void
  language sql set search_path = banking, pg_temp as $$
  update member set updated_at = statement_timestamp(), change = current_setting('app.caller')::jsonb
    || jsonb_build_object('operation', operation, 'event', event, 'at', rfc3339(clock_timestamp()))
  where workspace_id = of_workspace and id = of_member
$$;

-- Begins a change of the members of a workspace: behind the lock of the directory, the user of the database transaction administers it.
-- The caller is told of in the trails, and decides nothing.
create function begin_member_change(of_workspace bigint, caller jsonb) returns void
  language plpgsql set search_path = banking, pg_temp as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('banking.directory', 0));
  perform set_config('app.workspaces', array[of_workspace]::text, true);
  perform set_config('app.caller', caller::text, true);
  if not coalesce(has_role(nullif(current_setting('app.user', true), '')::bigint, of_workspace, 'admin'), false) then
    raise exception 'only an administrator of a workspace changes its members' using errcode = 'BK030';
  end if;
end $$;

-- Whether the user of the database transaction may invite an address: each open invitation is withdrawn with the right of its maker, in one
-- database transaction, so a user has a bounded number of them in a workspace. A user of the service needs none, and one of the address is replaced.
create function may_invite(of_workspace bigint, address text) returns boolean
  language sql stable security definer set search_path = banking, pg_temp as $$
  select exists (select from app_user u where u.email = address and u.is_email_verified) or 200 > (
    select count(*) from member m
    where m.workspace_id = of_workspace and m.invited_by = nullif(current_setting('app.user', true), '')::bigint
      and m.roles is not null and m.expires_at > clock_timestamp() and m.email <> address)
$$;

-- Gives a user the roles at once, and invites an address that is no user, or whose user was never verified to have it. Another invitation of
-- the address replaces the former one.
create function invite_member(of_workspace bigint, address text, wanted text[], hash bytea, valid_until timestamptz, caller jsonb)
  returns bigint
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  invited bigint;
  of_member bigint;
begin
  perform begin_member_change(of_workspace, caller);
  if not may_invite(of_workspace, address) then
    raise exception 'a user has a bounded number of open invitations' using errcode = 'BK030';
  end if;
  select u.id into invited from app_user u where u.email = address and u.is_email_verified;
  if invited is not null then
    insert into app_membership (app_id, user_id) select w.app_id, invited from workspace w where w.id = of_workspace on conflict do nothing;
    insert into workspace_role (workspace_id, user_id, role)
    select of_workspace, invited, role from unnest(wanted) w (role) on conflict (workspace_id, user_id, role) do nothing;
    select id into of_member from member where workspace_id = of_workspace and user_id = invited;
  else
    insert into member (workspace_id, email, roles, code_hash, expires_at, invited_by)
    values (of_workspace, address, wanted, hash, valid_until, current_setting('app.user')::bigint)
    on conflict (workspace_id, email) where email is not null
    do update set roles = excluded.roles, code_hash = excluded.code_hash, expires_at = excluded.expires_at, invited_by = excluded.invited_by
    returning id into of_member;
  end if;
  perform tell_member(of_workspace, of_member, 'inviteMember', 'member.invited');
  perform set_config('app.workspaces', scope, true);
  return of_member;
end $$;

-- Replaces the roles of a member, or those of an invitation. Without any, the member is removed.
create function change_member(of_workspace bigint, of_member bigint, wanted text[], caller jsonb) returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  m member;
  is_removal boolean := cardinality(wanted) = 0;
begin
  perform begin_member_change(of_workspace, caller);
  select * into m from member where workspace_id = of_workspace and id = of_member;
  if member_status(m) = 'removed' then
    raise exception 'the workspace has no such member' using errcode = 'BK030';
  end if;
  if m.user_id is null then
    update member set roles = case when not is_removal then wanted end, code_hash = case when not is_removal then code_hash end,
      expires_at = case when not is_removal then expires_at end
    where workspace_id = of_workspace and id = of_member;
  else
    delete from workspace_role where workspace_id = of_workspace and user_id = m.user_id and role <> all(wanted);
    insert into workspace_role (workspace_id, user_id, role)
    select of_workspace, m.user_id, role from unnest(wanted) w (role) on conflict (workspace_id, user_id, role) do nothing;
  end if;
  if is_removal then
    perform tell_member(of_workspace, of_member, 'removeMember', 'member.removed');
  else
    perform tell_member(of_workspace, of_member, 'changeMember', 'member.changed');
  end if;
  perform set_config('app.workspaces', scope, true);
end $$;

-- An invitation stands on the right of the administrator who made it, who may know its code and have its address: without the right, it is
-- withdrawn, in whatever way the right was taken. It runs behind the lock of the directory, which the trail of the change has taken.
create function withdraw_invitations() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  -- A role of a user, or a user.
  lost jsonb := to_jsonb(old);
  m member;
begin
  if tg_relid not in ('banking.workspace_role'::regclass, 'banking.app_user'::regclass) or tg_op not in ('UPDATE', 'DELETE') then
    raise exception 'withdraw_invitations runs after changes of users and their roles only' using errcode = 'BK013';
  end if;
  for m in
    select i.* from member i
    where i.roles is not null and i.expires_at > clock_timestamp() and i.invited_by = coalesce(lost ->> 'user_id', lost ->> 'id')::bigint
      and i.workspace_id = coalesce((lost ->> 'workspace_id')::bigint, i.workspace_id)
    order by i.workspace_id, i.id
  loop
    perform set_config('app.workspaces', array[m.workspace_id]::text, true);
    update member set roles = null, code_hash = null, expires_at = null, updated_at = statement_timestamp(),
      change = coalesce(nullif(current_setting('app.caller', true), '')::jsonb, jsonb_build_object('actor', audit_operator()))
        || jsonb_build_object('operation', 'removeMember', 'event', 'member.removed', 'at', rfc3339(clock_timestamp()))
    where workspace_id = m.workspace_id and id = m.id;
  end loop;
  perform set_config('app.workspaces', scope, true);
  return null;
end $$;

-- After `trail`: triggers run in the order of their names.
create trigger withdraws_invitations_after_update after update on workspace_role for each row
  when (old.role = 'admin' and (new.role, new.workspace_id, new.user_id) is distinct from (old.role, old.workspace_id, old.user_id))
  execute function withdraw_invitations();
create trigger withdraws_invitations_after_delete after delete on workspace_role for each row
  when (old.role = 'admin') execute function withdraw_invitations();
create trigger withdraws_invitations after update of status on app_user for each row
  when (old.status = 'completed' and new.status <> 'completed') execute function withdraw_invitations();

-- Gives a user what these open invitations promise, and closes them.
create function join_workspaces(of_user bigint, invitations member[]) returns void
  language plpgsql set search_path = banking, pg_temp as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  m member;
  joined bigint;
begin
  foreach m in array invitations loop
    perform set_config('app.workspaces', array[m.workspace_id]::text, true);
    select id into joined from member where workspace_id = m.workspace_id and user_id = of_user;
    if joined is null then
      joined := m.id;
      update member set user_id = of_user, email = null, roles = null, expires_at = null
      where workspace_id = m.workspace_id and id = m.id;
    else
      update member set roles = null, code_hash = null, expires_at = null where workspace_id = m.workspace_id and id = m.id;
      update member set code_hash = m.code_hash where workspace_id = m.workspace_id and id = joined;
    end if;
    insert into app_membership (app_id, user_id) select w.app_id, of_user from workspace w where w.id = m.workspace_id
    on conflict do nothing;
    insert into workspace_role (workspace_id, user_id, role)
    select m.workspace_id, of_user, role from unnest(m.roles) w (role) on conflict (workspace_id, user_id, role) do nothing;
    perform tell_member(m.workspace_id, joined, 'acceptInvitation', 'member.changed');
  end loop;
  perform set_config('app.workspaces', scope, true);
end $$;

create type joined_workspace as (workspace_id bigint, member_id bigint);

-- Accepts the open invitation of a code, for the user of a subject. A person who is no user becomes one, with the address that was invited,
-- unless that is a user already. Returns nothing if there is no such invitation, or if the subject has another verified e-mail. The user
-- who has accepted it may repeat the request. The address is verified if the e-mails of the issuer find users.
create function accept_invitation(hash bytea, of_issuer text, of_subject text, email_of_subject text, is_verified boolean, caller jsonb)
  returns joined_workspace
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  m member;
  accepting bigint;
begin
  if not exists (select from member where code_hash = hash) then
    return null;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('banking.directory', 0));
  select * into m from member where code_hash = hash;
  select i.user_id into accepting from user_identity i where i.issuer = of_issuer and i.subject = of_subject;
  if m.user_id = accepting then
    perform set_config('app.workspaces', array[m.workspace_id]::text, true);
    return row(m.workspace_id, m.id)::joined_workspace;
  end if;
  if coalesce(m.expires_at <= clock_timestamp(), true) or email_of_subject <> m.email then
    return null;
  end if;
  caller := caller || jsonb_build_object('actor', (caller -> 'actor')
    || jsonb_build_object('type', 'user', 'issuer', left(of_issuer, 255), 'subject', left(of_subject, 255)));
  perform set_config('app.caller', caller::text, true);
  if accepting is null then
    insert into app_user (email, is_email_verified) values (m.email, is_verified)
    on conflict (email) do nothing returning id into accepting;
    if accepting is null then
      return null;
    end if;
    insert into user_identity (issuer, subject, user_id) values (of_issuer, of_subject, accepting);
  end if;
  perform set_config('app.caller', (caller || jsonb_build_object('userId', accepting))::text, true);
  perform join_workspaces(accepting, array[m]);
  perform set_config('app.workspaces', array[m.workspace_id]::text, true);
  return (select row(m.workspace_id, o.id)::joined_workspace from member o where o.workspace_id = m.workspace_id and o.user_id = accepting);
end $$;

-- What a request without a role changes in the directory: the first sign-in of a subject binds it to the user with its verified e-mail, and
-- accepts the open invitations of that address. A person who was invited becomes a user. Returns the user, or null if no user has that
-- e-mail and no open invitation, the user has a subject of this issuer or was never verified to have the e-mail, or the subject is bound
-- already.
create function bind_subject(of_issuer text, of_subject text, verified_email text) returns bigint
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  bound bigint;
  invitations member[];
  is_invited boolean := exists (select from member where email = verified_email and roles is not null and expires_at > clock_timestamp());
begin
  if is_invited then
    perform pg_advisory_xact_lock(hashtextextended('banking.directory', 0));
    select array_agg(m order by m.workspace_id) into invitations
    from member m where m.email = verified_email and m.roles is not null and m.expires_at > clock_timestamp();
    if invitations is not null and not exists (select from user_identity where issuer = of_issuer and subject = of_subject) then
      perform set_config('app.caller', jsonb_build_object('actor',
        jsonb_build_object('type', 'user', 'issuer', left(of_issuer, 255), 'subject', left(of_subject, 255)))::text, true);
      insert into app_user (email) values (verified_email) on conflict (email) do nothing;
    end if;
  end if;
  insert into user_identity (issuer, subject, user_id)
  select of_issuer, of_subject, u.id from app_user u where u.email = verified_email and u.is_email_verified
  on conflict do nothing
  returning user_id into bound;
  if bound is not null and invitations is not null then
    perform set_config('app.caller', (current_setting('app.caller')::jsonb || jsonb_build_object('userId', bound))::text, true);
    perform join_workspaces(bound, invitations);
  end if;
  return bound;
end $$;

-- Has a worker pause the later orders of a user that are not paused. One that does so already begins again.
create function queue_removed_placer(of_workspace bigint, of_user bigint) returns void
  language sql security definer set search_path = banking, pg_temp as $$
  insert into work (workspace_id, kind, subject_id)
  select of_workspace, 'removed-placer', of_user
  where exists (
    select from customer_order o
    where o.workspace_id = of_workspace and o.placed_by = of_user and o.status = 'active' and o.type <> 'instant' and o.paused_at is null)
  on conflict (workspace_id, kind, subject_id) do update set
    due_at = excluded.due_at, leased_until = null, fence = work.fence + 1, parked_at = null, reason = null
$$;
