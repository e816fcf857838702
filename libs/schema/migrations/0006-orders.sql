-- Orders, their runs, and the clock of a sandbox that makes them due.

create sequence customer_order_id_seq maxvalue 9007199254740991;
create table customer_order (
  workspace_id bigint not null,
  id bigint not null default nextval('customer_order_id_seq'),
  account_id bigint not null,
  recipient_id bigint not null,
  amount bigint not null check (amount > 0),
  type text not null check (type in ('instant', 'scheduled', 'recurring')),
  status text not null check (status in ('active', 'completed', 'cancelled', 'failed')),
  description text check (char_length(description) between 1 and 512),
  purpose_code text,
  repeat_unit text check (repeat_unit in ('daily', 'weekly', 'monthly')),
  repeat_value integer check (repeat_value between 1 and 366),
  start_at timestamptz,
  stop_at timestamptz,
  external_reference text check (char_length(external_reference) between 1 and 140),
  metadata jsonb check (jsonb_typeof(metadata) = 'object'),
  -- The digest of description and metadata, by which the digest of the order covers them. Once they are erased, only it is left.
  texts_salt bytea,
  texts_digest bytea,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  quote_id bigint,
  -- Who placed it; null for the deployment itself.
  placed_by bigint,
  -- As it was sent: what repeats is counted from this local day and time, at this offset.
  anchor text,
  paused_at timestamptz,
  pause_reason text,
  -- Rejections up to this time do not pause the order again.
  resumed_at timestamptz,
  -- The approval that the order waits or waited for, and the digest of what was approved.
  approval_id bigint,
  approval_digest bytea,
  primary key (workspace_id, id),
  constraint customer_order_approval check (num_nonnulls(approval_id, approval_digest) in (0, 2)),
  constraint customer_order_pause check ((paused_at is null) = (pause_reason is null) and (paused_at is null or status = 'active') and
    case pause_reason
      when 'payouts_rejected' then type = 'recurring'
      when 'placer_without_role' then type in ('scheduled', 'recurring')
      else pause_reason is null
    end),
  constraint customer_order_schedule check (
    case type
      when 'instant' then num_nonnulls(start_at, stop_at, anchor, repeat_unit, repeat_value) = 0
      when 'scheduled' then num_nonnulls(stop_at, repeat_unit, repeat_value) = 0 and num_nonnulls(start_at, anchor) = 2
      else num_nonnulls(start_at, anchor, repeat_unit, repeat_value) = 4 and (stop_at is null or stop_at >= start_at)
    end),
  constraint customer_order_digest check ((num_nonnulls(description, metadata) > 0) = (texts_salt is not null)
    and (texts_salt is null or texts_digest is not null) and length(texts_salt) = 16 and length(texts_digest) = 32)
);
create index account_order_by_class on customer_order (workspace_id, account_id, status, type, created_at desc, id desc)
  where amount > 0;
create index customer_order_by_class on customer_order (workspace_id, status, type, created_at desc, id desc)
  where amount >= 1;
create unique index customer_order_reference on customer_order (workspace_id, external_reference)
  where external_reference is not null;
create index placed_order_by_class
  on customer_order (workspace_id, placed_by, status, type, created_at desc, id desc)
  where placed_by is not null;
-- Few orders are later ones, and an instant order never enters it.
create index running_order_of_placer on customer_order (workspace_id, placed_by, id)
  where status = 'active' and type <> 'instant' and paused_at is null;
create index recipient_order_by_class on customer_order (workspace_id, recipient_id, status, type, created_at desc, id desc)
  where amount > 0;

-- The order that was placed at a quote. The primary key is what makes the second one fail.
create table quote_use (
  workspace_id bigint not null,
  quote_id bigint not null,
  order_id bigint not null,
  used_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, quote_id),
  constraint quote_use_order foreign key (workspace_id, order_id) references customer_order (workspace_id, id),
  constraint quote_use_quote foreign key (workspace_id, quote_id) references quote (workspace_id, id)
);

create unique index quote_of_order on quote_use (workspace_id, order_id) where order_id is not null;

-- A quote is used in time and for its own payment. It expires by the time the database transaction began: what the service has read behind
-- its locks still holds when the row is inserted.
create function prove_quote_use() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
declare
  promised quote;
  ordered customer_order;
begin
  select * into promised from quote where workspace_id = new.workspace_id and id = new.quote_id;
  select * into ordered from customer_order where workspace_id = new.workspace_id and id = new.order_id;
  if promised.expires_at <= now() then
    raise exception 'the quote has expired' using errcode = 'BK007';
  end if;
  if (ordered.account_id, ordered.amount, ordered.recipient_id)
     is distinct from (promised.account_id, promised.amount, coalesce(promised.recipient_id, ordered.recipient_id)) then
    raise exception 'the quote is of another payment' using errcode = 'BK007';
  end if;
  return null;
end $$;

create trigger proven after insert on quote_use for each row execute function prove_quote_use();

create sequence execution_id_seq maxvalue 9007199254740991;
-- One run of an order. Its order is written in the same pipeline, so the verification checks the pair instead of a foreign key.
create table execution (
  workspace_id bigint not null,
  id bigint not null default nextval('execution_id_seq'),
  order_id bigint not null,
  sequence integer not null check (sequence > 0),
  status text not null check (status in ('awaiting_approval', 'scheduled', 'pending', 'completed', 'failed', 'cancelled')),
  transaction_id bigint,
  scheduled_at timestamptz not null,
  executed_at timestamptz,
  failure_code text,
  failure_message text,
  primary key (workspace_id, id),
  constraint execution_outcome check (
    case status
      when 'failed' then failure_code is not null
      when 'pending' then transaction_id is not null and executed_at is not null
      when 'completed' then transaction_id is not null and executed_at is not null
      else transaction_id is null and executed_at is null
    end)
);
create unique index execution_of_order on execution (workspace_id, order_id, sequence) where order_id is not null;
create unique index execution_by_transaction on execution (workspace_id, transaction_id) where transaction_id is not null;

-- The run of a payment, found as in `beneficiary_of`.
create function execution_of_payment(of_workspace bigint, of_transaction bigint) returns setof execution
  language sql stable as $$
  select * from execution e where e.workspace_id = of_workspace and e.transaction_id = of_transaction limit 1
$$;

-- What is checked of an order with the rows that it refers to.
create type placed_order as (
  workspace_id bigint, id bigint, status text, account_id bigint, recipient_id bigint, amount bigint, type text, created_at timestamptz,
  placed_by bigint, quote_id bigint, approval_id bigint, approval_digest bytea);
create type placed_execution as (
  workspace_id bigint, id bigint, order_id bigint, sequence integer, status text, transaction_id bigint, scheduled_at timestamptz,
  executed_at timestamptz);

/**
 * Writes orders with their first runs, and further runs of orders, behind the payments of those that ran, and notes them. A run with a
 * transaction is that of its order: the account is debited by the amount. An order names an account and a recipient of its workspace. A
 * quote is used by its order, and a scheduled run is put into the queue. In the order of the unique external reference, so that two
 * batches wait for each other and cannot deadlock. An order that needs approvals waits for them: its quote is used when it runs.
 *
 * An order is an object with the columns of its row by name. It is written first, and then compared with what it refers to. A process of the
 * release before leaves out a column that it does not know, which is null then: a column that is added later may be null.
 */
create function place_orders(order_rows json, executions placed_execution[]) returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  orders placed_order[];
  starts_elsewhere boolean;
  is_infinite boolean;
  fault text;
begin
  with written as (
    insert into customer_order select o.* from json_populate_recordset(null::customer_order, order_rows) o
    order by o.workspace_id, o.external_reference
    returning *)
  select coalesce(array_agg(row(o.workspace_id, o.id, o.status, o.account_id, o.recipient_id, o.amount, o.type, o.created_at, o.placed_by,
           o.quote_id, o.approval_id, o.approval_digest)::placed_order order by o.id), '{}'),
         bool_or(o.start_at is distinct from o.anchor::timestamptz or num_nonnulls(o.paused_at, o.pause_reason, o.resumed_at) > 0),
         bool_or(not (isfinite(o.start_at) and isfinite(o.stop_at)))
  into orders, starts_elsewhere, is_infinite
  from written o;
  select case
      when exists (
        select from unnest(orders) o
        full join unnest(executions) e on e.workspace_id = o.workspace_id and e.order_id = o.id
        where o.id is not null and (e.sequence is distinct from 1 or (o.status = 'completed') <> (e.transaction_id is not null)
            or (e.status = 'awaiting_approval') <> (o.approval_id is not null))
          or o.id is null and e.status = 'awaiting_approval'
          or o.id is null and (e.transaction_id is not null or not exists (
            select from customer_order c where c.workspace_id = e.workspace_id and c.id = e.order_id))
          -- `offset 0`: found by the transaction, not in a hash of all transfers of the workspace.
          or e.transaction_id is not null and not exists (
            select from (
              select * from transfer f where f.workspace_id = e.workspace_id and f.transaction_id = e.transaction_id offset 0) t
            where t.account_id = o.account_id and t.direction = 'debit' and t.amount = o.amount and t.recipient_id = o.recipient_id
              and t.type <> 'fee')) then 'run'
      when starts_elsewhere then 'start'
      when exists (
        select from (select distinct workspace_id, account_id from unnest(orders)) o
        where (select a.id from account a where a.workspace_id = o.workspace_id and a.id = o.account_id) is null) then 'account'
      when exists (
        select from (select distinct workspace_id, recipient_id from unnest(orders)) o
        where (select r.id from recipient r where r.workspace_id = o.workspace_id and r.id = o.recipient_id and r.erased_at is null) is null)
        then 'recipient'
      when is_infinite or exists (select from unnest(executions) e where not isfinite(e.scheduled_at)) then 'time'
      when has_forbidden_character(order_rows) then 'text'
    end into fault;
  case
    when fault is null then null;
    when fault = 'run' then raise exception 'an order has its run, and a run its payment' using errcode = 'BK022';
    when fault = 'time' then raise exception 'a time of an order is infinite' using errcode = 'check_violation';
    when fault = 'text' then
      raise exception 'text of customer_order has a control, format or private-use character' using errcode = 'check_violation';
    when fault = 'start' then
      raise exception 'an order starts at its anchor, and is not paused' using errcode = 'BK022';
    else
      raise exception 'an order needs an account and a recipient of its workspace'
        using errcode = 'foreign_key_violation', table = 'customer_order', constraint = 'customer_order_' || fault;
  end case;
  insert into execution (workspace_id, id, order_id, sequence, status, transaction_id, scheduled_at, executed_at)
  select e.* from unnest(executions) e;
  if exists (
    select from (select o.workspace_id, bool_or(o.approval_id is not null) as awaits from unnest(orders) o group by o.workspace_id) w
    where w.awaits or exists (select from approval_rules r where r.workspace_id = w.workspace_id limit 1)) then
    perform check_placed_orders(orders);
  end if;
  if exists (select from unnest(orders) o where o.quote_id is not null and o.approval_id is null) then
    insert into quote_use (workspace_id, quote_id, order_id)
    select o.workspace_id, o.quote_id, o.id from unnest(orders) o where o.quote_id is not null and o.approval_id is null order by 1, 2;
  end if;
  if exists (select from unnest(executions) e where e.status = 'scheduled') then
    insert into work (workspace_id, kind, subject_id, due_at)
    select e.workspace_id, 'execution', e.id, e.scheduled_at from unnest(executions) e where e.status = 'scheduled';
  end if;
  insert into change_outbox (resource_type, workspace_ids, resource_ids, statuses, first_ids, second_ids, third_ids, user_ids)
  select 'order', array_agg(o.workspace_id), array_agg(o.id), array_agg(o.status), array_agg(o.account_id), array_agg(o.recipient_id),
         array_agg(o.quote_id), array_agg(o.placed_by)
  from unnest(orders) o having count(*) > 0
  union all
  -- The recorder finds the user of an order that is paid at once. The placer of a later one may change before that.
  select 'execution', array_agg(e.workspace_id), array_agg(e.id), array_agg(e.status), array_agg(e.order_id), array_agg(e.transaction_id),
         null, array_agg(case when e.status in ('awaiting_approval', 'scheduled') and e.sequence = 1 then o.placed_by end)
  from unnest(executions) e left join unnest(orders) o on o.workspace_id = e.workspace_id and o.id = e.order_id having count(*) > 0;
end $$;

-- The order of a workspace with an external reference; none of no reference. A range of one value, since the order of its index then tells it
-- from the others, which also begin with the workspace: a plan from the time when the table was small would read all orders.
create function order_of_reference(of_workspace bigint, reference text) returns table (id bigint)
  language sql stable as $$
  select o.id from customer_order o
  where reference is not null and o.workspace_id = of_workspace and o.external_reference >= reference and o.external_reference <= reference
  order by o.external_reference limit 1
$$;

/**
 * What payments depend on besides their accounts, each as a text that changes with it: the recipient with its beneficiary and corridor, the
 * place of the account that is paid, the limits and approval rules of the workspace, and the reference data. `xmin` changes with each update of a row; after a failover that has lost updates
 * it may be given again, with another time. With `limit 1`, each row is found by its key, also by a plan from the time when a table was small.
 */
create function payment_versions(workspace_ids bigint[], recipient_ids bigint[])
  returns table (place integer, versions text)
  language sql stable as $$
  select (u.n - 1)::integer, format('%s %s %s %s %s %s %s %s %s %s %s', r.xmin, r.updated_at, n.xmin, n.updated_at, k.xmin, k.updated_at, o.xmin,
    p.state, m.version, g.version, v.version)
  from unnest(workspace_ids, recipient_ids) with ordinality u (w, r, n)
  cross join reference_version v
  left join lateral (
    select x.xmin, x.updated_at, x.kind, x.corridor_id, x.account_code from recipient x
    where x.workspace_id = u.w and x.id = u.r and x.forgotten_at is null limit 1) r on true
  left join lateral (
    select x.xmin, x.updated_at from beneficiary x where r.kind = 'international' and x.workspace_id = u.w and x.recipient_id = u.r limit 1) n on true
  left join corridor k on k.id = r.corridor_id
  left join lateral (
    select x.xmin, x.workspace_id from account_code x where r.kind = 'internal' and x.code = r.account_code limit 1) o on true
  left join lateral (select x.state from cell_workspace x where x.workspace_id = o.workspace_id limit 1) p on true
  left join lateral (select x.version from limit_list x where x.workspace_id = u.w limit 1) m on true
  left join lateral (select x.version from approval_rules x where x.workspace_id = u.w order by x.version desc limit 1) g on true
$$;

-- An account and a payment as a process remembers them, with the key and the reference of the order. The head of the account covers its
-- balance and its version. Of an account that no response shows, the process knows no alias and no time of its change.
create type held_account as (workspace_id bigint, id bigint, head bytea, status text, alias text, updated_at timestamptz);
create type held_payment as (
  workspace_id bigint, recipient_id bigint, versions text, operation text, key text, external_reference text);

/**
 * In front of other statements it makes what a process remembers part of the database transaction: locks the accounts, in the order of
 * their ids, then the limits of the limited workspaces. It refuses if one is locked elsewhere, if an account or what a payment depends on
 * has changed, or if a key or a reference was used. The detail has the positions, from 0, of what it refuses in both lists, and the
 * workspaces whose limits are locked. The payments are then decided on what is read. The time of a payment may be up to a second before
 * this one, and the rest of it is left to its statements.
 */
create function hold_accounts(accounts held_account[], payments held_payment[], limited bigint[], at timestamptz) returns void
  language plpgsql as $$
declare
  other_accounts integer[];
  other_payments integer[];
  workspace_ids bigint[];
  recipient_ids bigint[];
  held_limits bigint[];
  other_limits bigint[];
begin
  select array_agg(h.n - 1) into other_accounts
  from (
    select * from unnest(accounts) with ordinality x (workspace_id, id, head, status, alias, updated_at, n)
    order by x.workspace_id, x.id) h
  left join lateral (
    select a.head, a.status, a.alias, a.updated_at from account a
    where a.workspace_id = h.workspace_id and a.id = h.id
    for no key update skip locked) a on true
  where (a.head = h.head and a.status = h.status
    and (h.updated_at is null or a.updated_at = h.updated_at and a.alias is not distinct from h.alias)) is not true;
  if limited <> '{}' then
    held_limits := hold_limits(limited, false);
    select array_agg(w.id) into other_limits from unnest(limited) w (id) where w.id <> all(held_limits);
  end if;
  select array_agg(x.workspace_id), array_agg(x.recipient_id) into workspace_ids, recipient_ids from unnest(payments) x;
  select array_agg(p.n - 1) into other_payments
  from unnest(payments) with ordinality p (workspace_id, recipient_id, versions, operation, key, external_reference, n)
  left join payment_versions(workspace_ids, recipient_ids) v on v.place = p.n - 1
  left join lateral (
    select i.key from idempotency i
    where i.workspace_id = p.workspace_id and i.operation = p.operation and i.key = p.key limit 1) answered on true
  left join lateral order_of_reference(p.workspace_id, p.external_reference) referred on true
  where v.versions is distinct from p.versions or answered.key is not null or referred.id is not null;
  if other_accounts is not null or other_payments is not null or other_limits is not null
    or at not between clock_timestamp() - interval '900 ms' and clock_timestamp() then
    raise exception 'what was remembered has changed' using errcode = 'BK024',
      detail = json_build_object('accounts', coalesce(other_accounts, '{}'), 'payments', coalesce(other_payments, '{}'),
        'limits', coalesce(other_limits, '{}'));
  end if;
end $$;

-- Runs that are still pending and runs that were refused are left out; a completed one ends the row.
create function rejected_three_in_a_row(of_workspace bigint, of_order bigint, since timestamptz) returns boolean
  language sql stable set search_path = banking, pg_temp
  return (
    select count(*) = 3 from (
      select e.status, x.updated_at
      from execution e join transaction x on (x.workspace_id, x.id) = (e.workspace_id, e.transaction_id)
      where e.workspace_id = of_workspace and e.order_id = of_order and e.status in ('completed', 'failed')
      order by e.sequence desc limit 3) final
    where final.status = 'failed' and (since is null or final.updated_at > since));

-- Why the next run of an order has to wait; null if it does not. Only members pay. An order whose placer is not known belongs to the deployment itself.
create function pause_required(of_workspace bigint, of_order bigint) returns text
  language sql stable set search_path = banking, pg_temp
  return (
    select case
      -- An approved order that pays at once is refused instead.
      when o.type <> 'instant' and o.placed_by is not null and not has_role(o.placed_by, o.workspace_id, 'member')
        then 'placer_without_role'
      when rejected_three_in_a_row(o.workspace_id, o.id, o.resumed_at) then 'payouts_rejected' end
    from customer_order o where o.workspace_id = of_workspace and o.id = of_order);

create function require_placer() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if not coalesce(old.paused_at is not null and new.paused_at is null and new.status = 'active'
       and has_role(new.placed_by, new.workspace_id, 'member')
       and may_take_over(new.workspace_id, new.approval_id, new.placed_by), false) then
    raise exception 'an order gets another placer only when it is resumed, and only a member who approves none of it' using errcode = 'BK004';
  end if;
  return new;
end $$;

-- A rejection locks the account before it fails its run, and so does a run before it is written: the later of the two sees the earlier. The
-- roles of the placer are locked: a change of them waits for the run, or the run sees it.
create function require_running_order() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  perform lock_role(o.placed_by, o.workspace_id) from customer_order o
  where o.workspace_id = new.workspace_id and o.id = new.order_id and o.placed_by is not null;
  if exists (
    select from customer_order o
    where o.workspace_id = new.workspace_id and o.id = new.order_id
      and (o.paused_at is not null or pause_required(o.workspace_id, o.id) is not null
        or o.type = 'instant' and new.status <> 'failed' and o.placed_by is not null
          and not has_role(o.placed_by, o.workspace_id, 'member'))) then
    raise exception 'a paused order does not run' using errcode = 'BK012';
  end if;
  return new;
end $$;

-- A run is pending while its transaction is, and a crossing takes its step before its transaction does. The failure names no reason of the
-- payee's account. For all rows of the statement.
create function follow_transaction() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if exists (
    select from stepped n join crossing c on c.workspace_id = n.workspace_id and c.transaction_id = n.id
    where c.status <> case n.status when 'pending' then 'due' when 'completed' then 'completed' else 'returned' end) then
    raise exception 'a crossing ends with its transaction' using errcode = 'BK019';
  end if;
  update execution e set status = n.status,
    failure_code = case when n.status = 'failed' then 'payout_rejected' end,
    failure_message = case when n.status = 'failed' then
      case when exists (select from crossing c where c.workspace_id = n.workspace_id and c.transaction_id = n.id)
        then 'The account of the recipient takes no such payment, and the money has come back.'
        else 'The payout was rejected, and the money has come back.' end end
  from stepped n
  where n.status <> 'pending' and e.workspace_id = n.workspace_id and e.transaction_id = n.id and e.status = 'pending';
  return null;
end $$;

create sequence order_change_id_seq maxvalue 9007199254740991;
create table order_change (
  workspace_id bigint not null,
  id bigint not null default nextval('order_change_id_seq'),
  order_id bigint not null,
  changed_at timestamptz not null default statement_timestamp(),
  -- An operator, or the login of the service.
  changed_by text not null,
  -- The user who asked for it; null for an operator and for the service itself.
  user_id bigint,
  before jsonb not null,
  after jsonb not null,
  primary key (workspace_id, id),
  constraint order_change_order foreign key (workspace_id, order_id) references customer_order (workspace_id, id)
);
create index order_change_by_order on order_change (workspace_id, order_id, id);

create function trail_order() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.customer_order'::regclass or tg_op <> 'UPDATE' then
    raise exception 'trail_order runs after an UPDATE of customer_order only' using errcode = 'BK013';
  end if;
  insert into order_change (workspace_id, order_id, changed_by, user_id, before, after)
  values (new.workspace_id, new.id, operator_name(),
          nullif(current_setting('app.user', true), '')::bigint,
          jsonb_build_object('status', old.status, 'pauseReason', old.pause_reason, 'placedBy', old.placed_by),
          jsonb_build_object('status', new.status, 'pauseReason', new.pause_reason, 'placedBy', new.placed_by));
  return null;
end $$;

create trigger legal_step before update of status on customer_order for each row
  when (old.status <> new.status and (old.status, new.status) not in
    (('active', 'completed'), ('active', 'cancelled'), ('active', 'failed')))
  execute function refuse_step();
create trigger placer before update of placed_by on customer_order for each row
  when (old.placed_by is distinct from new.placed_by) execute function require_placer();
create trigger trail after update of status, pause_reason, placed_by on customer_order for each row
  when (old.pause_reason is distinct from new.pause_reason or old.placed_by is distinct from new.placed_by
        or old.status <> 'cancelled' and new.status = 'cancelled')
  execute function trail_order();
create trigger legal_step before update on execution for each row
  when (old.status <> new.status and (old.status, new.status) not in
    (('scheduled', 'pending'), ('scheduled', 'completed'), ('scheduled', 'failed'), ('scheduled', 'cancelled'),
     ('pending', 'completed'), ('pending', 'failed'), ('awaiting_approval', 'scheduled'), ('awaiting_approval', 'failed'),
     ('awaiting_approval', 'cancelled'))
    or old.transaction_id is not null and old.transaction_id is distinct from new.transaction_id)
  execute function refuse_step();
create trigger may_run before update of status on execution for each row
  when (old.status = 'scheduled' and new.status in ('pending', 'completed', 'failed')) execute function require_running_order();
create trigger followed after update on transaction
  referencing new table as stepped for each statement execute function follow_transaction();

create table sandbox_clock (
  workspace_id bigint primary key references workspace,
  now timestamptz not null,
  -- Who moved it there; null for the deployment itself.
  moved_by bigint,
  moved_at timestamptz not null default statement_timestamp(),
  check (now >= moved_at and now <= (moved_at + '100 years'::interval))
);

create trigger forward_only before update on sandbox_clock for each row
  when (new.workspace_id <> old.workspace_id or new.now < old.now) execute function refuse_change();
