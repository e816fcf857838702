-- Operators: commands that move money or stop it are requested by one operator and approved by another. Outside a sandbox, and by login:
-- a person with two logins, or with the rights of the owner, can do alone what two should.

create sequence operator_request_id_seq maxvalue 9007199254740991;
-- What an operator requests. Another one approves it by the same command, which carries it out.
create table operator_request (
  id bigint primary key default nextval('operator_request_id_seq'),
  -- Canonical JSON: {"action", "arguments"}. The actions are listed in libs/operations/src/provisioning/operator-requests.ts.
  content text not null check (char_length(content) <= 8000 and jsonb_typeof(content::jsonb -> 'arguments') = 'object'),
  -- SHA-256 of the content, which the second operator states too.
  digest text not null check (digest = encode(sha256(convert_to(content, 'UTF8')), 'hex')),
  requested_by text not null default session_user,
  -- The account of the operating system, for the trail.
  operating_system_user text check (char_length(operating_system_user) between 1 and 255),
  requested_at timestamptz not null default statement_timestamp(),
  expires_at timestamptz not null default statement_timestamp() + interval '24 hours',
  status text not null default 'open' check (status in ('open', 'done', 'withdrawn')),
  -- Who approved and carried it out, or who withdrew it.
  ended_by text,
  ended_at timestamptz,
  check ((status = 'open') = (ended_by is null) and (status = 'open') = (ended_at is null)),
  constraint approved_by_another check (status <> 'done' or ended_by <> requested_by)
);
create index operator_request_open on operator_request (id) where status = 'open';
create trigger legal_step before update on operator_request for each row when (old.status <> 'open') execute function refuse_step();

-- The transactions that operators posted outside a sandbox, each with the request that covers it: evidence that moves with the workspace.
create table operator_posting (
  workspace_id bigint not null,
  transaction_id bigint not null,
  -- A row of `operator_request`, in the database that posted it.
  request_id bigint not null,
  action text not null,
  requested_by text not null,
  approved_by text not null check (approved_by <> requested_by),
  created_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, transaction_id)
);

/**
 * Outside a sandbox, carries out the request that the setting `app.operator_request` names, as `id:digest`: once, for this action with
 * these arguments and no other, while it is open, for a login that has not requested it.
 *
 * @param workspaces, transactions what the action posts
 */
create function require_second_operator(of_action text, of_arguments jsonb, workspaces bigint[] default '{}', transactions bigint[] default '{}')
  returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  named text[] := string_to_array(nullif(current_setting('app.operator_request', true), ''), ':');
  request operator_request;
  fault text;
begin
  if exists (select from deployment_mode where is_sandbox) then
    return;
  end if;
  select r.* into request from operator_request r where r.id = named[1]::bigint for update;
  fault := case
    when named is null then 'a second operator approves what moves money or stops it'
    when request.id is null then 'there is no such request of an operator'
    when request.status <> 'open' then format('the request is %s', request.status)
    when request.expires_at <= clock_timestamp() then 'the request has expired'
    when request.requested_by = session_user then 'another login approves a request than the one that made it'
    when request.digest is distinct from named[2] or request.content::jsonb ->> 'action' is distinct from of_action
      or exists (
        select from jsonb_each(of_arguments) a
        where request.content::jsonb -> 'arguments' -> a.key is distinct from nullif(a.value, 'null'))
      then 'the request is for something else' end;
  if fault is not null then
    raise exception '%', fault using errcode = 'BK028';
  end if;
  update operator_request set status = 'done', ended_by = session_user, ended_at = statement_timestamp() where id = request.id;
  insert into operator_posting (workspace_id, transaction_id, request_id, action, requested_by, approved_by)
  select w, t, request.id, of_action, request.requested_by, session_user from unnest(workspaces, transactions) u (w, t);
end $$;

-- An operator withdraws a request. Returns its id; none if it is not open.
create function withdraw_operator_request(request_id bigint) returns setof bigint
  language sql security definer set search_path = banking, pg_temp as $$
  update operator_request set status = 'withdrawn', ended_by = session_user, ended_at = statement_timestamp()
  where id = request_id and status = 'open' returning id
$$;

-- Who requested what this database transaction carries out. The row must have been written by it.
create function operator_requester() returns text
  language sql security definer set search_path = banking, pg_temp as $$
  select r.requested_by from operator_request r
  where r.id = split_part(nullif(current_setting('app.operator_request', true), ''), ':', 1)::bigint and r.status = 'done'
    and r.xmin = pg_current_xact_id()::xid
$$;

-- The operator of a database transaction, as the actor of an entry: the login, the account of the operating system, and who requested what
-- it has approved.
create function audit_operator() returns jsonb
  language sql
  return jsonb_strip_nulls(jsonb_build_object('type', 'operator', 'name', left(operator_name(), 255),
    'operatingSystemUser', left(nullif(current_setting('app.operating_system_user', true), ''), 255),
    'requestedBy', left(operator_requester(), 255)));

-- No caller chooses the name of an operator in a trail.
create function name_operator() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  new.entries := (
    select jsonb_agg(
      case e.entry -> 'actor' ->> 'type' when 'operator' then jsonb_set(e.entry, '{actor}', audit_operator()) else e.entry end
      order by e.position)
    from jsonb_array_elements(new.entries) with ordinality e (entry, position));
  return new;
end $$;
create trigger operator_named before insert on audit_outbox for each row
  when (new.entries @> '[{"actor": {"type": "operator"}}]') execute function name_operator();

-- What operators write into tables. The name is that of the login.
create function require_approved_resolution() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.discrepancy'::regclass or tg_op <> 'UPDATE' then
    raise exception 'require_approved_resolution runs before an UPDATE of discrepancy only' using errcode = 'BK013';
  end if;
  if new.resolution = 'settled' then
    if not exists (
      select from remittance_event e where e.workspace_id = new.workspace_id and e.transaction_id = new.transaction_id and e.is_return) then
      raise exception 'a discrepancy is settled by a return of the bank' using errcode = 'BK010';
    end if;
    new.resolved_by := 'network';
    return new;
  end if;
  new.resolved_by := operator_name();
  perform require_second_operator('resolveDiscrepancy', jsonb_build_object('workspaceId', new.workspace_id, 'discrepancyId', new.id,
      'resolution', new.resolution, 'note', new.note),
    array_remove(array[case when new.resolution_transaction_id is not null then new.workspace_id end], null),
    array_remove(array[new.resolution_transaction_id], null));
  return new;
end $$;
create trigger approved before update on discrepancy for each row
  when (new.resolved_at is not null) execute function require_approved_resolution();

create function require_approved_ignoring() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.bank_entry'::regclass or tg_op <> 'UPDATE' then
    raise exception 'require_approved_ignoring runs before an UPDATE of bank_entry only' using errcode = 'BK013';
  end if;
  new.ignored_by := operator_name();
  perform require_second_operator('ignoreEntry', jsonb_build_object('entryId', new.id, 'note', new.note));
  return new;
end $$;
create trigger approved before update of note, ignored_by on bank_entry for each row
  when (new.note is not null) execute function require_approved_ignoring();

create function require_approved_resumption() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.payout_stop'::regclass or tg_op <> 'UPDATE' then
    raise exception 'require_approved_resumption runs before an UPDATE of payout_stop only' using errcode = 'BK013';
  end if;
  new.resumed_by := operator_name();
  perform require_second_operator('resumePayouts', jsonb_build_object('stopId', new.id));
  return new;
end $$;
create trigger approved before update on payout_stop for each row
  when (new.resumed_at is not null) execute function require_approved_resumption();

-- The decision hook decides alone, and an operator in its place with another one.
create function require_approved_decision() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.payout_decision'::regclass or tg_op <> 'INSERT' then
    raise exception 'require_approved_decision runs before an INSERT into payout_decision only' using errcode = 'BK013';
  end if;
  new.operator := operator_name();
  if new.decision = 'approve' then
    perform require_second_operator('releasePayout', jsonb_build_object('workspaceId', new.workspace_id,
      'transactionId', new.transaction_id, 'note', new.reason));
  else
    perform require_second_operator('rejectPayout', jsonb_build_object('workspaceId', new.workspace_id,
      'transactionId', new.transaction_id, 'note', new.reason));
  end if;
  return new;
end $$;
create trigger approved before insert on payout_decision for each row
  when (new.decided_by = 'operator') execute function require_approved_decision();

create function require_approved_end() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.decision_demand'::regclass or tg_op <> 'UPDATE' then
    raise exception 'require_approved_end runs before an UPDATE of decision_demand only' using errcode = 'BK013';
  end if;
  new.ended_by := operator_name();
  perform require_second_operator('endDecisions', jsonb_build_object('demandId', new.id, 'note', new.note));
  return new;
end $$;
create trigger approved before update on decision_demand for each row
  when (new.ended_at is not null) execute function require_approved_end();

-- The API resumes an order for an administrator of the workspace. Any other role does it for an operator.
create function require_requested_resumption() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.customer_order'::regclass or tg_op <> 'UPDATE' then
    raise exception 'require_requested_resumption runs before an UPDATE of customer_order only' using errcode = 'BK013';
  end if;
  perform require_second_operator('resumeOrder', jsonb_build_object('workspaceId', new.workspace_id, 'orderId', new.id,
    'placer', (select u.email from app_user u where u.id = new.placed_by)));
  return new;
end $$;
create trigger approved before update of paused_at on customer_order for each row
  when (old.paused_at is not null and new.paused_at is null and new.status = 'active' and current_user <> 'banking_api')
  execute function require_requested_resumption();

-- A payout that its network has not rejected fails only by an operator, who returns its money. One that its network had accepted is
-- submitted again only by an operator.
create function require_approved_payout() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.payout'::regclass or tg_op <> 'UPDATE' then
    raise exception 'require_approved_payout runs before an UPDATE of payout only' using errcode = 'BK013';
  end if;
  if new.status <> 'failed' then
    perform require_second_operator('submitPayoutAgain', jsonb_build_object('workspaceId', new.workspace_id, 'transactionId', new.transaction_id));
  elsif not exists (
    select from remittance_event e
    where e.workspace_id = new.workspace_id and e.transaction_id = new.transaction_id and e.status = 'RJCT') then
    perform require_second_operator('returnPayout',
      jsonb_build_object('workspaceId', new.workspace_id, 'transactionId', new.transaction_id, 'note', new.reason),
      array(select r.workspace_id from transaction r where r.workspace_id = new.workspace_id and r.return_of = new.transaction_id),
      array(select r.id from transaction r where r.workspace_id = new.workspace_id and r.return_of = new.transaction_id));
  end if;
  return new;
end $$;
create trigger approved before update on payout for each row
  when (old.status <> 'failed' and new.status = 'failed' or old.accepted_at is not null and new.accepted_at is null)
  execute function require_approved_payout();
