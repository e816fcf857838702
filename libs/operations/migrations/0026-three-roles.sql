-- Three roles: the app role reads the directory, the provisioning role changes it, and neither can attach a function of the owner to a table.

-- Without these a role could forge entries of both trails, from a trigger on a table of its own.
create or replace function trail_account() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.account'::regclass or tg_op <> 'UPDATE' then
    raise exception 'trail_account runs after an UPDATE of account only' using errcode = 'BK013';
  end if;
  insert into account_change (workspace_id, account_id, changed_by, before, after)
  values (new.workspace_id, new.id, nullif(current_setting('app.user', true), '')::bigint,
          jsonb_build_object('alias', old.alias, 'status', old.status),
          jsonb_build_object('alias', new.alias, 'status', new.status));
  return null;
end $$;

create or replace function trail_directory() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid not in ('banking.app'::regclass, 'banking.app_user'::regclass, 'banking.user_identity'::regclass,
                      'banking.app_membership'::regclass, 'banking.workspace'::regclass, 'banking.workspace_role'::regclass) then
    raise exception 'trail_directory runs for tables of the directory only' using errcode = 'BK013';
  end if;
  if tg_op = 'UPDATE' and old is not distinct from new then
    return null;
  end if;
  insert into directory_change (changed_by, relation, action, record)
  values (coalesce(nullif(current_setting('app.actor', true), ''), session_user), tg_table_name, lower(tg_op),
          case when tg_op = 'DELETE' then to_jsonb(old) else to_jsonb(new) end);
  return null;
end $$;

-- The one change of the directory that a request may cause: the first sign-in of a subject binds it to the user with its verified e-mail.
-- Returns the user, or null if no user has that e-mail, the user has a subject of this issuer, or the subject is bound already.
create function bind_subject(of_issuer text, of_subject text, verified_email text) returns bigint
  language sql security definer set search_path = banking, pg_temp
begin atomic
  insert into user_identity (issuer, subject, user_id)
  select of_issuer, of_subject, u.id from app_user u where u.email = verified_email
  on conflict do nothing
  returning user_id;
end;

-- A role may call the functions it is granted here. Functions of triggers need no grant.
revoke execute on all functions in schema banking from public;
grant execute on function hold_work(bigint, text, bigint, bigint), rejected_three_in_a_row(bigint, bigint, timestamptz),
  bind_subject(text, text, text) to banking_app;

revoke all on app, app_user, user_identity, app_membership, workspace, workspace_role from banking_app;
revoke all on sequence app_id_seq, app_user_id_seq, workspace_id_seq, workspace_role_id_seq from banking_app;
grant select on app, app_user, user_identity, app_membership, workspace, workspace_role to banking_app;

grant usage on sequence app_id_seq, app_user_id_seq, workspace_id_seq, workspace_role_id_seq to banking_provisioning;
grant select on app, app_user, user_identity, app_membership, workspace, workspace_role to banking_provisioning;
grant insert (id, name), delete, update (name, updated_at) on app to banking_provisioning;
grant insert (id, email, status, user_type), delete, update (email, status, updated_at) on app_user to banking_provisioning;
-- A subject is never bound to another user afterwards. It goes with its user.
grant insert (issuer, subject, user_id) on user_identity to banking_provisioning;
grant insert (app_id, user_id) on app_membership to banking_provisioning;
grant insert (id, app_id, name, type), delete, update (name, updated_at) on workspace to banking_provisioning;
grant insert (workspace_id, id, user_id, role), delete, update (role, updated_at) on workspace_role to banking_provisioning;
