-- The audit trail gets what operators change in the directory and in a stop of payouts, and refuses entries that could not be recorded.
-- Phase: expand

-- Whether each entry of a row of the outbox can be recorded. The conversions are those of `record_audit`: a value that this function
-- accepts cannot stop the recorder. A loop of plain expressions costs less than a query over the array.
create function are_audit_entries(entries jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
declare
  entry jsonb;
begin
  if jsonb_typeof(entries) <> 'array' then
    return false;
  end if;
  for i in 0 .. jsonb_array_length(entries) - 1 loop
    entry := entries -> i;
    if not coalesce(
      char_length(entry ->> 'operation') between 1 and 100
      and entry ->> 'outcome' in ('done', 'refused')
      and (entry ->> 'outcome' = 'refused') = (entry ->> 'reason' is not null)
      and coalesce((entry ->> 'count')::integer, 1) > 0
      and (entry ->> 'resourceType' is null) = (entry ->> 'resourceId' is null)
      and coalesce((entry ->> 'resourceId')::bigint, 1) > 0
      and coalesce((entry ->> 'userId')::bigint, 1) > 0
      and entry -> 'actor' ->> 'type' in ('user', 'operator', 'network', 'system'), false) then
      return false;
    end if;
  end loop;
  return true;
end $$;
alter table audit_outbox add constraint audit_outbox_recordable check (are_audit_entries(entries)) not valid;

-- Rows of a workspace that is not open here, as during a move, do not take the place of others.
create or replace function workspaces_to_audit(rows_max integer) returns setof bigint
  language sql stable security definer set search_path = banking, pg_temp as $$
  select distinct r.workspace_id
  from (
    select o.workspace_id from audit_outbox o
    where not exists (select from cell_identity)
      or exists (select from cell_workspace c where c.workspace_id = o.workspace_id and c.state = 'open')
    order by o.id limit rows_max) r
$$;

-- How many rows wait for the recorder, up to a limit, and the age of the oldest.
create function count_unrecorded_audit(rows_max integer, out waiting integer, out seconds float8)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select count(*)::integer, coalesce(greatest(extract(epoch from statement_timestamp() - min(r.created_at)), 0), 0)::float8
  from (
    select o.created_at from audit_outbox o
    where not exists (select from cell_identity)
      or exists (select from cell_workspace c where c.workspace_id = o.workspace_id and c.state = 'open')
    order by o.id limit rows_max) r
$$;

-- The operator of a database transaction: the name that was given, and the account of the operating system.
create function audit_operator(name text) returns jsonb
  language sql stable
  return jsonb_strip_nulls(jsonb_build_object('type', 'operator', 'name', left(name, 255),
    'operatingSystemUser', left(nullif(current_setting('app.operating_system_user', true), ''), 255)));

-- Writes an entry into the outbox of each of these workspaces that this database serves, in the order of their ids. A workspace whose
-- place is written by the same SQL statement is not open yet. The lock is that of a scope, and the state is read behind it.
create function note_in_workspaces(ids bigint[], operation text, resource_type text, resource_id bigint, actor jsonb, of_user bigint)
  returns void
  language plpgsql set search_path = banking, pg_temp as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
begin
  if exists (select from cell_identity) then
    perform pg_advisory_xact_lock_shared(workspace_lock_key(w.id)) from (select unnest(ids) as id order by 1) w;
    select array_agg(w.id) into ids
    from unnest(ids) w (id)
    where exists (select from cell_workspace c where c.workspace_id = w.id and c.state = 'open')
      or not exists (select from cell_workspace c where c.workspace_id = w.id)
        and exists (select from workspace_place p join cell_identity i on i.number = p.cell_number where p.workspace_id = w.id);
  end if;
  if ids is null then
    return;
  end if;
  perform set_config('app.workspaces', ids::text, true);
  insert into audit_outbox (workspace_id, entries)
  select w.id, jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('operation', operation, 'outcome', 'done',
    'resourceType', resource_type, 'resourceId', resource_id, 'userId', of_user, 'actor', actor)))
  from unnest(ids) w (id) order by w.id;
  perform set_config('app.workspaces', scope, true);
end $$;

alter table directory_change add column operating_system_user text;

create or replace function trail_directory() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  name text := nullif(current_setting('app.actor', true), '');
  is_sign_in boolean := name is null and tg_relid = 'banking.user_identity'::regclass;
  changed jsonb;
  operation text;
  of_user bigint;
  ids bigint[];
begin
  if tg_relid not in ('banking.app'::regclass, 'banking.app_user'::regclass, 'banking.user_identity'::regclass,
                      'banking.app_membership'::regclass, 'banking.workspace'::regclass, 'banking.workspace_role'::regclass) then
    raise exception 'trail_directory runs for tables of the directory only' using errcode = 'BK013';
  end if;
  if tg_op = 'UPDATE' and old is not distinct from new then
    return null;
  end if;
  changed := case when tg_op = 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
  insert into directory_change (changed_by, operating_system_user, relation, action, record)
  values (coalesce(name, session_user), nullif(current_setting('app.operating_system_user', true), ''),
          tg_table_name, lower(tg_op), changed);

  -- The audit trails of the workspaces concerned. An app, a membership and a removed workspace concern none.
  operation := case tg_table_name || ' ' || lower(tg_op)
    when 'workspace insert' then 'addWorkspace'
    when 'workspace update' then 'renameWorkspace'
    when 'workspace_role insert' then 'addGrant'
    when 'workspace_role update' then 'changeGrant'
    when 'workspace_role delete' then 'removeGrant'
    when 'user_identity insert' then 'bindUser'
    when 'app_user update' then case
      when to_jsonb(old) ->> 'email' <> changed ->> 'email' then 'renameUser'
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
    select array_agg(r.workspace_id) into ids from workspace_role r where r.user_id = of_user;
    perform set_config('app.workspaces', scope, true);
  end if;
  perform note_in_workspaces(ids, operation, case tg_table_name when 'workspace' then 'workspace' else 'user' end,
    coalesce(of_user, ids[1]),
    case when is_sign_in
      then jsonb_build_object('type', 'user', 'issuer', left(changed ->> 'issuer', 255), 'subject', left(changed ->> 'subject', 255))
      else audit_operator(coalesce(name, session_user)) end,
    case when is_sign_in then of_user end);
  return null;
end $$;

-- A stop of payouts and its end, in the audit trails of the workspaces with findings.
create function trail_payout_stop() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.payout_stop'::regclass or tg_op not in ('INSERT', 'UPDATE') then
    raise exception 'trail_payout_stop runs after an INSERT or UPDATE of payout_stop only' using errcode = 'BK013';
  end if;
  perform note_in_workspaces(
    (select array_agg(w.id) from workspace w where w.id = any(new.workspace_ids)),
    case tg_op when 'INSERT' then 'stopPayouts' else 'resumePayouts' end, 'payoutStop', new.id,
    case tg_op when 'INSERT' then '{"type": "system"}'::jsonb else audit_operator(new.resumed_by) end, null);
  return null;
end $$;
create trigger trail after insert or update on payout_stop for each row execute function trail_payout_stop();

revoke execute on function are_audit_entries(jsonb), count_unrecorded_audit(integer), audit_operator(text), trail_payout_stop(),
  note_in_workspaces(bigint[], text, text, bigint, jsonb, bigint) from public;
grant execute on function are_audit_entries(jsonb), count_unrecorded_audit(integer) to banking_app;
