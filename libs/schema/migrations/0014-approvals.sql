-- Approvals: which operations need a second person, and what was decided.

-- A version follows the last one, so that of two concurrent changes one is refused.
create function prove_approval_rules() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if new.version <> coalesce((
       select r.version from approval_rules r where r.workspace_id = new.workspace_id order by r.version desc limit 1), 0) + 1 then
    raise exception 'the rules have another version' using errcode = 'unique_violation', constraint = 'approval_rules_pkey';
  end if;
  return new;
end $$;

create trigger follows before insert on approval_rules for each row execute function prove_approval_rules();

-- Null for a workspace that never had rules.
create function approval_rules_in_force(of_workspace bigint) returns jsonb
  language sql stable
  return (select r.rules from approval_rules r where r.workspace_id = of_workspace order by r.version desc limit 1);

-- The rules in force that apply to an operation. Without an order, the group alone decides. An order in a currency that a rule does not
-- name is above its amounts. Without settings of its own, so that it becomes a part of each query that calls it.
create function applying_rules(of_workspace bigint, of_group text, of_account bigint, of_recipient bigint, of_amount bigint, at timestamptz)
  returns table (rule jsonb, place bigint)
  language sql stable as $$
  select r.rule, r.place
  from (select g.rules from approval_rules g where g.workspace_id = of_workspace order by g.version desc limit 1) f
  cross join lateral jsonb_array_elements(f.rules) with ordinality r (rule, place)
  where r.rule ->> 'operations' = of_group
    and (not r.rule ? 'accountID' or (r.rule ->> 'accountID')::bigint = of_account)
    and (not r.rule ? 'amountAbove' or not exists (
      select from jsonb_array_elements(r.rule -> 'amountAbove') b (bound)
      join account a on a.workspace_id = of_workspace and a.id = of_account
      join currency c on c.id = a.currency_id and c.code = b.bound ->> 'currencyCode'
      where of_amount <= (b.bound ->> 'amount')::numeric))
    and (not r.rule ? 'recipientNewerThanDays' or (
      select p.created_at from recipient p where p.workspace_id = of_workspace and p.id = of_recipient)
      > at - make_interval(days => (r.rule ->> 'recipientNewerThanDays')::integer))
$$;

-- What the rules in force require of an operation: of each rule that applies, how many approvals of which roles.
create function approval_requirements(of_workspace bigint, of_group text, of_account bigint default null, of_recipient bigint default null,
    of_amount bigint default null, at timestamptz default statement_timestamp())
  returns jsonb
  language sql stable set search_path = banking, pg_temp
  return (
    select coalesce(jsonb_agg(jsonb_build_object('approvals', r.rule -> 'approvals', 'roles', r.rule -> 'roles') order by r.place), '[]')
    from applying_rules(of_workspace, of_group, of_account, of_recipient, of_amount, at) r);

-- Who may decide, and by which roles: none of the makers, and no one who is no person. Without settings of its own, so that it becomes a
-- part of each query that calls it.
create function deciders(of_workspace bigint, makers bigint[]) returns table (user_id bigint, role text)
  language sql stable as $$
  select a.user_id, a.role from active_role a
  where a.workspace_id = of_workspace and a.kind = 'person' and a.user_id <> all(makers)
$$;

-- The roles by which a user may decide.
create function deciding_roles(of_workspace bigint, of_user bigint, makers bigint[]) returns text[]
  language sql stable set search_path = banking, pg_temp
  return array(select d.role from deciders(of_workspace, makers) d where d.user_id = of_user order by d.role);

create function makers_of(of_workspace bigint, maker bigint) returns bigint[]
  language sql stable set search_path = banking, pg_temp
  return array(select maker where maker is not null union select * from persons_behind(of_workspace, maker) where maker is not null);

-- Whether enough users could meet each requirement at the moment. Of each role, as many as are required are read, in the order of their index,
-- however many users have it.
create function is_approvable(of_workspace bigint, requirements jsonb, makers bigint[]) returns boolean
  language sql stable set search_path = banking, pg_temp
  return not exists (
    select from jsonb_array_elements(requirements) r (required)
    where (
      select count(distinct h.user_id)
      from jsonb_array_elements_text(r.required -> 'roles') w (role)
      cross join lateral (
        select d.user_id from deciders(of_workspace, makers) d
        where d.role = w.role order by d.user_id limit (r.required ->> 'approvals')::integer) h) < (r.required ->> 'approvals')::integer);

create sequence approval_id_seq maxvalue 9007199254740991;
-- A request that waits for approvals, or that waited for them.
create table approval (
  workspace_id bigint not null references workspace,
  id bigint not null,
  -- Raised by each change of the status.
  version integer not null default 1 check (version > 0),
  status text not null default 'required' check (status in ('required', 'approved', 'rejected', 'withdrawn', 'expired')),
  -- The operation, and the group of operations that the rules name.
  operation text not null check (operation ~ '^[a-zA-Z]{1,100}$'),
  operations text not null check (operations ~ '^[a-zA-Z]{1,50}$'),
  -- In canonical JSON: the id, the workspace, the maker, the operation with its input, and what the maker saw. Both personal data and the
  -- salt of the digest are erased with the recipient.
  request text not null,
  request_salt bytea check (length(request_salt) = 16),
  digest bytea not null check (length(digest) = 32),
  -- Of the rules in force at the time of the request.
  requirements jsonb not null check (jsonb_typeof(requirements) = 'array' and jsonb_array_length(requirements) > 0),
  -- The user who asked; null for the deployment itself.
  maker bigint,
  -- The maker and the persons behind it at the time of the request.
  makers bigint[] not null,
  -- The order that waits.
  order_id bigint,
  created_at timestamptz not null default statement_timestamp(),
  updated_at timestamptz not null default statement_timestamp(),
  expires_at timestamptz not null default statement_timestamp() + interval '7 days',
  -- The database transaction that carried it out: no other may. An order is carried out by its run.
  carried_out_in xid8,
  outcome text check (outcome in ('carried_out', 'refused')),
  -- Of a refusal.
  outcome_reason text check (char_length(outcome_reason) between 1 and 100),
  outcome_message text check (char_length(outcome_message) <= 1000),
  -- What was made or changed.
  resource_type text,
  resource_id bigint,
  outcome_at timestamptz,
  primary key (workspace_id, id),
  constraint approval_digest check (request_salt is null or digest = salted_digest(request_salt, array[request])),
  constraint approval_order check ((order_id is not null) = (operation = 'placeOrder')),
  constraint approval_outcome check ((outcome is null) = (outcome_at is null) and (outcome is null or status = 'approved')
    and (outcome_reason is not null) = coalesce(outcome = 'refused', false))
);
create unique index approval_of_order on approval (workspace_id, order_id) where order_id is not null;
create index approval_by_class on approval (workspace_id, status, created_at desc, id desc) where id >= 1;
create index approval_by_expiry on approval (expires_at) where status = 'required';

-- The recipient that a request pays or changes, or that it has added.
create function recipient_of_request(request text, resource_type text, resource_id bigint) returns bigint
  language sql immutable parallel safe
  return case resource_type when 'recipient' then resource_id
    else coalesce(request::jsonb #>> '{input,recipientID}', request::jsonb #>> '{input,recipientId}')::bigint end;

create index approval_of_recipient on approval (workspace_id, recipient_of_request(request, resource_type, resource_id), operations, id)
  where operations in ('orders', 'recipients');

-- The e-mail that a request to invite or change a member names, in small letters. None once it is erased.
create function email_of_request(request text) returns text
  language sql immutable parallel safe
  return lower(coalesce(request::jsonb #>> '{input,email}', request::jsonb #>> '{shown,email}'));

create index approval_of_email on approval (email_of_request(request)) where operations = 'members';

create table approval_decision (
  workspace_id bigint not null,
  approval_id bigint not null,
  -- A person decides once.
  user_id bigint not null,
  decision text not null check (decision in ('approve', 'reject')),
  comment text check (char_length(comment) between 1 and 512 and not has_forbidden_character(comment)),
  -- Those of the person at the time of the decision.
  roles text[] not null,
  created_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, approval_id, user_id),
  constraint approval_decision_approval foreign key (workspace_id, approval_id) references approval (workspace_id, id)
);

-- Whether each requirement has its approvals, each by another person, and no decision is a rejection.
create function has_approvals(of_workspace bigint, of_approval bigint) returns boolean
  language sql stable set search_path = banking, pg_temp
  return not exists (
      select from approval_decision d
      where d.workspace_id = of_workspace and d.approval_id = of_approval and d.decision = 'reject')
    and (
      select bool_and((
        select count(*) from approval_decision d
        where d.workspace_id = of_workspace and d.approval_id = of_approval and (r.required -> 'roles') ?| d.roles
          and d.user_id <> all(a.makers)) >= (r.required ->> 'approvals')::integer)
      from approval a cross join lateral jsonb_array_elements(a.requirements) r (required)
      where a.workspace_id = of_workspace and a.id = of_approval) is true;

-- Whether an order with this approval, if it has one, may run for another user, so that who pays and who approves stay different people. While
-- it waits it stays with its maker, whom no decision is of. Then its decisions are final, and are read without a lock.
create function may_take_over(of_workspace bigint, of_approval bigint, of_user bigint) returns boolean
  language sql stable set search_path = banking, pg_temp
  return not exists (
    select from approval a
    where a.workspace_id = of_workspace and a.id = of_approval and (a.status = 'required' or exists (
      select from approval_decision d
      where d.workspace_id = a.workspace_id and d.approval_id = a.id and d.user_id = any(makers_of(of_workspace, of_user)))));

-- A request is stored as it is, with no less than the rules in force require of it.
create function prove_approval() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
declare
  request jsonb := new.request::jsonb;
  input jsonb := request -> 'input';
  required jsonb := approval_requirements(new.workspace_id, new.operations, (input ->> 'accountId')::bigint,
    (input ->> 'recipientID')::bigint, case new.operation when 'placeOrder' then (input ->> 'amount')::bigint end);
begin
  if (new.status = 'required' and new.version = 1 and num_nonnulls(new.carried_out_in, new.outcome) = 0 and new.request_salt is not null
      and request ->> 'approvalID' = new.id::text and request ->> 'workspaceID' = new.workspace_id::text
      and request ->> 'operation' = new.operation and request ->> 'makerID' is not distinct from new.maker::text
      and request ->> 'orderID' is not distinct from new.order_id::text
      and (new.operation = 'placeOrder') = (new.operations = 'orders')) is not true
     or exists (select from jsonb_array_elements(required) r (one) where not exists (
       select from jsonb_array_elements(new.requirements) s (one) where s.one = r.one)) then
    raise exception 'an approval is not that of its request by the rules in force' using errcode = 'BK027';
  end if;
  new.makers := makers_of(new.workspace_id, new.maker);
  return new;
end $$;

create trigger proven before insert on approval for each row execute function prove_approval();

-- A decision is made by a person with a role of a requirement, and never by the maker or a person behind it. The approval is locked.
create function prove_approval_decision() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
declare
  waiting approval;
begin
  select * into waiting from approval a where a.workspace_id = new.workspace_id and a.id = new.approval_id for no key update;
  new.roles := deciding_roles(new.workspace_id, new.user_id, waiting.makers || makers_of(new.workspace_id, waiting.maker));
  if (waiting.status = 'required' and waiting.expires_at > clock_timestamp()
      and exists (select from jsonb_array_elements(waiting.requirements) r (required) where (r.required -> 'roles') ?| new.roles)) is not true
  then
    raise exception 'a decision is made by another person with the role, in time' using errcode = 'BK027';
  end if;
  return new;
end $$;

create trigger proven before insert on approval_decision for each row execute function prove_approval_decision();

create function prove_approval_step() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if (old.status = 'required' and new.version = old.version + 1 and case new.status
        when 'approved' then old.expires_at > clock_timestamp() and has_approvals(new.workspace_id, new.id)
        when 'rejected' then exists (
          select from approval_decision d
          where d.workspace_id = new.workspace_id and d.approval_id = new.id and d.decision = 'reject')
        when 'expired' then old.expires_at <= clock_timestamp()
        when 'required' then true
        else new.status = 'withdrawn' end) is not true then
    raise exception 'an approval does not become % without its decisions', new.status using errcode = 'BK027';
  end if;
  return new;
end $$;

create trigger proven_step before update of status, version on approval for each row
  when (old.status <> new.status or old.version <> new.version) execute function prove_approval_step();
create trigger outcome_once before update of outcome, outcome_reason, outcome_message, outcome_at, carried_out_in on approval for each row
  when (old.outcome is not null or old.carried_out_in is not null and old.carried_out_in is distinct from new.carried_out_in)
  execute function refuse_change();

/**
 * What follows a step of an approval, in its database transaction: an approved order is scheduled and put into the queue, and ends if it
 * is not approved. Another approved operation is put into the queue. Notes the events.
 */
create function follow_approval() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  former text;
begin
  if tg_relid <> 'banking.approval'::regclass or tg_when <> 'AFTER' or tg_op not in ('INSERT', 'UPDATE') then
    raise exception 'follow_approval runs after a change of approval only' using errcode = 'BK013';
  end if;
  if tg_op = 'UPDATE' then
    former := old.status;
  end if;
  if former is distinct from new.status then
    insert into change_outbox (changes)
    values (jsonb_build_array(jsonb_build_array(new.workspace_id, 'approval.' || new.status, new.id,
      jsonb_build_object('status', jsonb_build_object('before', former, 'after', new.status))
        || case when new.order_id is null then '{}' else jsonb_build_object('orderId', new.order_id) end)));
  elsif old.outcome is distinct from new.outcome then
    insert into change_outbox (changes)
    values (jsonb_build_array(jsonb_build_array(new.workspace_id, 'approval.' || new.outcome, new.id,
      case when new.order_id is null then '{}' else jsonb_build_object('orderId', new.order_id) end)));
  end if;
  if former is null or former = new.status then
    return null;
  end if;
  if new.order_id is null then
    insert into work (workspace_id, kind, subject_id) select new.workspace_id, 'approval', new.id where new.status = 'approved';
    return null;
  end if;
  if new.status = 'approved' then
    with released as (
      update execution e set status = 'scheduled'
      where e.workspace_id = new.workspace_id and e.order_id = new.order_id and e.sequence = 1 and e.status = 'awaiting_approval'
      returning e.id, e.scheduled_at)
    -- The clock of a sandbox may have passed the time of the run.
    insert into work (workspace_id, kind, subject_id, due_at)
    select new.workspace_id, 'execution', r.id, case
        when exists (select from sandbox_clock c where c.workspace_id = new.workspace_id and c.now >= r.scheduled_at) then statement_timestamp()
        else r.scheduled_at end
    from released r;
    update approval a set outcome = 'carried_out', resource_type = 'order', resource_id = new.order_id, outcome_at = statement_timestamp()
    from customer_order o
    where a.workspace_id = new.workspace_id and a.id = new.id
      and o.workspace_id = new.workspace_id and o.id = new.order_id and o.type <> 'instant';
    return null;
  end if;
  update execution e set status = case new.status when 'withdrawn' then 'cancelled' else 'failed' end,
    failure_code = case when new.status <> 'withdrawn' then 'approval_' || new.status end,
    failure_message = case new.status when 'rejected' then 'An approver rejected the order.'
      when 'expired' then 'The order was not approved in time.' end
  where e.workspace_id = new.workspace_id and e.order_id = new.order_id and e.status = 'awaiting_approval';
  update customer_order o set status = case new.status when 'withdrawn' then 'cancelled' else 'failed' end, updated_at = statement_timestamp()
  where o.workspace_id = new.workspace_id and o.id = new.order_id and o.status = 'active';
  return null;
end $$;

create trigger followed after insert or update of status, outcome on approval for each row execute function follow_approval();

-- A cancelled order needs no approval any more.
create function withdraw_approval() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  update approval a set status = 'withdrawn', version = a.version + 1, updated_at = statement_timestamp()
  where a.workspace_id = new.workspace_id and a.id = new.approval_id and a.status = 'required';
  return null;
end $$;

create trigger approval_withdrawn after update of status on customer_order for each row
  when (old.status = 'active' and new.status = 'cancelled' and new.approval_id is not null) execute function withdraw_approval();

create function require_approved_order() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if not exists (
    select from approval a where a.workspace_id = new.workspace_id and a.status = 'approved' and a.id = (
      select o.approval_id from customer_order o where o.workspace_id = new.workspace_id and o.id = new.order_id)) then
    raise exception 'an order is scheduled when it is approved' using errcode = 'BK027';
  end if;
  return new;
end $$;

create trigger approved before update of status on execution for each row
  when (old.status = 'awaiting_approval' and new.status = 'scheduled') execute function require_approved_order();

-- The run of an approved instant order uses the quote of the order, and is the outcome of its approval.
create function end_approved_order() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.execution'::regclass or tg_op <> 'UPDATE' then
    raise exception 'end_approved_order runs after an UPDATE of execution only' using errcode = 'BK013';
  end if;
  if new.transaction_id is not null then
    insert into quote_use (workspace_id, quote_id, order_id)
    select o.workspace_id, o.quote_id, o.id from customer_order o
    where o.workspace_id = new.workspace_id and o.id = new.order_id and o.approval_id is not null and o.quote_id is not null;
  end if;
  update approval a set outcome = case when new.transaction_id is not null then 'carried_out' else 'refused' end,
    outcome_reason = case when new.transaction_id is null then coalesce(new.failure_code, 'order_' || new.status) end,
    outcome_message = case when new.transaction_id is null then coalesce(new.failure_message, 'The order was cancelled.') end,
    resource_type = 'order', resource_id = new.order_id, outcome_at = statement_timestamp()
  where a.workspace_id = new.workspace_id and a.order_id = new.order_id and a.status = 'approved' and a.outcome is null;
  return null;
end $$;

create trigger approval_ended after update of status on execution for each row
  when (old.status = 'scheduled' and new.status <> old.status and old.sequence = 1) execute function end_approved_order();

/**
 * For `place_orders`: an order that the rules in force require approvals of waits for them, with the approval of exactly this order. Only
 * for workspaces that have or had rules.
 */
create function check_placed_orders(orders placed_order[]) returns void
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if exists (
    select from unnest(orders) o
    left join lateral (select * from approval r where r.workspace_id = o.workspace_id and r.id = o.approval_id limit 1) a on true
    where case
      when o.approval_id is null
        then exists (select from applying_rules(o.workspace_id, 'orders', o.account_id, o.recipient_id, o.amount, o.created_at))
      else (a.status = 'required' and a.order_id = o.id and a.digest = o.approval_digest
        and a.maker is not distinct from o.placed_by
        and a.request::jsonb -> 'input' @> jsonb_build_object('accountId', o.account_id, 'recipientID', o.recipient_id,
          'amount', o.amount::text, 'type', o.type)) is not true end) then
    raise exception 'an order waits for the approvals that the rules require' using errcode = 'BK027';
  end if;
end $$;

/**
 * A payment is of an order. If the order has an approval, it was approved by as many people as it required, and account, amount and
 * recipient are those that they approved.
 */
create function is_payment_approved(of_workspace bigint, of_transaction bigint) returns boolean
  language sql stable set search_path = banking, pg_temp
  return exists (
    select from execution_of_payment(of_workspace, of_transaction) e
    cross join lateral (select * from customer_order c where c.workspace_id = of_workspace and c.id = e.order_id limit 1) o
    where (o.approval_id is null or exists (
        select from approval a
        cross join lateral (select a.request::jsonb as content offset 0) r
        join lateral (
          select * from transfer f where f.workspace_id = of_workspace and f.transaction_id = of_transaction offset 0) t
          on t.direction = 'debit' and t.type <> 'fee'
        where a.workspace_id = o.workspace_id and a.id = o.approval_id and a.order_id = o.id and a.status = 'approved'
          and a.digest = o.approval_digest and has_approvals(a.workspace_id, a.id)
          and t.account_id = (r.content -> 'input' ->> 'accountId')::bigint
          and t.amount = (r.content -> 'input' ->> 'amount')::bigint
          and t.recipient_id = (r.content -> 'input' ->> 'recipientID')::bigint
          and encode(t.recipient_digest, 'hex') = r.content -> 'shown' ->> 'recipientDigest')));

-- For `guard_payments`: of workspaces that have or had rules, each payment has the approvals of its order.
create function check_approvals(workspace_ids bigint[], transaction_ids bigint[]) returns void
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if not exists (select from approval_rules r where r.workspace_id = any(workspace_ids)) then
    return;
  end if;
  -- With `offset 0` each row is found by its key, and no plan reads all orders of a workspace.
  if exists (
    select from (select distinct w, i from unnest(workspace_ids, transaction_ids) u (w, i)) u
    where case
      when exists (
        select from execution_of_payment(u.w, u.i) e
        cross join lateral (select c.approval_id from customer_order c where c.workspace_id = u.w and c.id = e.order_id limit 1) o
        where o.approval_id is null offset 0) then false
      else exists (select from approval_rules r where r.workspace_id = u.w offset 0)
        and exists (select from limited_payment l where l.workspace_id = u.w and l.transaction_id = u.i offset 0)
        and not is_payment_approved(u.w, u.i) end) then
    raise exception 'a payment without the approvals that the rules required' using errcode = 'BK027';
  end if;
end $$;

/**
 * Refuses a change of a group of operations that the rules in force require approvals of, unless an approved request of this group is
 * being carried out: `app.approval` names it. The first change of a database transaction takes the approval, and no other one can.
 * Operators of the deployment act without the approvals of a workspace.
 *
 * @param content of the row that is written
 * @param compared pairs of a field of the content and the path of its value in the input of the request, such as `url`, `{url}`. A value
 *   that the request has must be that of the content
 */
create function take_approval(of_workspace bigint, of_group text, content jsonb, compared text[]) returns void
  language plpgsql set search_path = banking, pg_temp as $$
declare
  named bigint := nullif(current_setting('app.approval', true), '')::bigint;
  given approval;
  input jsonb;
begin
  if current_setting('role', true) = 'banking_provisioning'
    or current_setting('role', true) = 'banking_operator' and current_setting('app.actor_type', true) = 'operator' then
    return;
  end if;
  if named is not null then
    select * into given from approval a
    where a.workspace_id = of_workspace and a.id = named and a.operations = of_group for no key update;
  end if;
  if given.id is null then
    if approval_requirements(of_workspace, of_group) <> '[]' then
      raise exception '% change with the approvals that the rules require', of_group using errcode = 'BK027';
    end if;
    return;
  end if;
  input := given.request::jsonb -> 'input';
  if (given.status = 'approved' and given.outcome is null and has_approvals(given.workspace_id, given.id)
      and (given.carried_out_in is null or given.carried_out_in = pg_current_xact_id())) is not true then
    raise exception 'the request is not approved, or was carried out' using errcode = 'BK027';
  end if;
  for i in 1 .. cardinality(compared) by 2 loop
    if input #> compared[i + 1]::text[] is not null and content -> compared[i] is distinct from input #> compared[i + 1]::text[] then
      raise exception 'what is carried out is not what was approved' using errcode = 'BK027';
    end if;
  end loop;
  if given.carried_out_in is null then
    update approval a set carried_out_in = pg_current_xact_id() where a.workspace_id = given.workspace_id and a.id = given.id;
  end if;
end $$;

-- `take_approval` for a table of a group. Arguments: the group, then what is compared. Of a workspace in another cell, home has no rules, or
-- former ones: its cell takes the approval of a change of the directory.
create function require_approval() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
declare
  content jsonb := case tg_op when 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
begin
  if is_served_here((content ->> 'workspace_id')::bigint) then
    perform take_approval((content ->> 'workspace_id')::bigint, tg_argv[0], content, tg_argv[1:]);
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $$;

create trigger approved before insert on approval_rules for each row execute function require_approval('rules', 'rules', '{rules}');
create trigger approved before insert or update of alias, saved, forgotten_at on recipient for each row
  execute function require_approval('recipients', 'id', '{recipientId}', 'account_code', '{accountCode}', 'account_code', '{data,beneficiaryAccountNumber}',
    'alias', '{alias}', 'saved', '{saved}');
create trigger approved before insert on webhook_endpoint for each row
  execute function require_approval('endpoints', 'url', '{url}', 'types', '{types}', 'description', '{description}');
-- The worker disables an endpoint that fails, and an administrator may at any time.
create trigger approved_change before update of url, types, description, status, deleted_at on webhook_endpoint for each row
  when ((old.url, old.types, old.description, old.deleted_at) is distinct from (new.url, new.types, new.description, new.deleted_at)
    or old.status = 'disabled' and new.status = 'enabled')
  execute function require_approval('endpoints', 'id', '{webhookEndpointId}', 'url', '{url}', 'types', '{types}',
    'description', '{description}');

-- Of the directory, changes over the interface: an invitation that is accepted was approved, and a removal does not wait.
create trigger approved before update of change on member for each row
  when (new.change is distinct from old.change and new.change ->> 'operation' in ('inviteMember', 'changeMember'))
  execute function require_approval('members', 'id', '{memberId}');
create trigger approved before insert or update of name, scopes, updated_at on service_account for each row
  execute function require_approval('serviceAccounts', 'id', '{serviceAccountId}', 'name', '{name}');
create trigger approved before insert on service_account_key for each row
  execute function require_approval('keys', 'service_account_id', '{serviceAccountId}');
create trigger approved before insert on limit_change for each row execute function require_approval('limits');

-- Requests of all workspaces whose time has passed.
create function approvals_due(approvals_max integer) returns table (workspace_id bigint, id bigint)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select a.workspace_id, a.id
  from approval a
  where a.status = 'required' and a.expires_at <= clock_timestamp() and is_served_here(a.workspace_id)
  order by a.expires_at limit approvals_max
$$;
