-- What leaves the database: the queue of work, payouts over networks and what these say of them, payments between databases.

-- What is to be done, and when: one row a subject, gone when it is done. It is claimed over all workspaces with one statement, so
-- it has no row-level security and holds nothing but ids, times and words of the service.
create table work (
  workspace_id bigint not null,
  -- Who does it, such as `payout`.
  kind text not null check (kind ~ '^[a-z][a-z-]{0,30}$'),
  subject_id bigint not null,
  -- The payment network of a payout; empty for other work. Each has a range of its own: one that is away delays its own payouts only.
  rail text not null default '' check (rail ~ '^([a-z][a-z0-9-]{0,30})?$'),
  due_at timestamptz not null default statement_timestamp(),
  -- Until when a worker has it. By the clock of the database, as every time here.
  leased_until timestamptz,
  -- Raised by each claim: a worker with an older one can finish nothing.
  fence bigint not null default 0 check (fence >= 0),
  tries integer not null default 0 check (tries >= 0),
  parked_at timestamptz,
  reason text check (char_length(reason) <= 500),
  -- Failures in a row that pass by themselves, such as an unavailable database. They lengthen the delay and never park.
  delays integer not null default 0 check (delays >= 0),
  primary key (workspace_id, kind, subject_id),
  check (parked_at is null or leased_until is null)
) with (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.05, vacuum_truncate = off);
create index work_by_claim on work (kind, rail, (greatest(due_at, leased_until))) where parked_at is null;
-- Workspaces take turns by it while one has a backlog. A workspace has many pieces that are due at the same instant, such as salaries.
create index work_by_turn on work (kind, rail, workspace_id, (greatest(due_at, leased_until)), subject_id) where parked_at is null;
create index work_by_parking on work (kind, parked_at, workspace_id, subject_id) where parked_at is not null;

-- In front of other statements it makes them part of the claim: a worker that was overtaken, or slept past its lease, writes nothing.
create function hold_work(of_workspace bigint, of_kind text, of_subject bigint, under_fence bigint) returns void
  language plpgsql as $$
begin
  perform from work
  where workspace_id = of_workspace and kind = of_kind and subject_id = of_subject and fence = under_fence
    and leased_until > clock_timestamp()
  for update;
  if not found then
    raise exception 'the claim on % % is lost', of_kind, of_subject using errcode = 'BK005';
  end if;
end $$;

create trigger fenced before update of fence on work for each row when (new.fence < old.fence) execute function refuse_change();

-- A transaction on its way through the outside network. It is written with its transaction, so the verification checks it instead of a
-- foreign key. Customers see it as the remittance of the transaction.
create table payout (
  workspace_id bigint not null,
  transaction_id bigint not null,
  status text not null default 'due' check (status in ('due', 'submitting', 'submitted', 'settled', 'failed', 'parked')),
  -- How often it was taken up to be submitted. After the first time it is not known whether the network has it, until it is asked.
  tries integer not null default 0 check (tries >= 0),
  -- Why it is parked, or why the last try came to nothing.
  reason text check (char_length(reason) <= 500),
  parked_at timestamptz,
  -- Since when it is known that the network has it: it is not submitted again, unless an operator says that the bank does not have it.
  accepted_at timestamptz,
  created_at timestamptz not null default statement_timestamp(),
  updated_at timestamptz not null default statement_timestamp(),
  -- 48 random bits, a part of the key at the network. After a restore to an earlier moment the sequences give ids of lost payouts again:
  -- without
  -- them, a new payout would be taken for a lost one. The service has no right to write the column.
  key_nonce text not null default right(gen_random_uuid()::text, 12) check (key_nonce ~ '^[0-9a-f]{12}$'),
  -- The payment network that carries it, for ever: another one does not know its key, and would pay a second time.
  rail text not null check (rail ~ '^[a-z][a-z0-9-]{0,30}$'),
  -- The document that stated the terms of the corridor: a row of `reference_change`, in the database that priced the payment.
  terms_change_id bigint,
  -- Whether it was made while the deployment demanded decisions. It is not submitted without an approval then.
  needs_decision boolean not null default false,
  -- Whether the network may have it although it was never taken up here: after a restore, that and its decision may be lost. The network
  -- is asked before it is submitted, or before its money returns.
  ask_first boolean not null default false,
  primary key (workspace_id, transaction_id),
  check ((status = 'parked') = (parked_at is not null))
);
create index payout_held on payout (created_at) where needs_decision and status = 'due';

create trigger forward_only before update of tries, ask_first on payout for each row
  when (new.tries < old.tries or new.ask_first < old.ask_first) execute function refuse_change();
-- `settled` and `failed` are final: money that comes back later is a new transaction. The final status may come at any step, also before it
-- is known that the network has the payment. A payout that is begun is counted: from then on an event ends it, or an operator while it is
-- parked.
create trigger legal_step before update on payout for each row
  when (old.status in ('settled', 'failed') and (new.reason is not null
      or (new.status, new.tries, new.parked_at, new.accepted_at) is distinct from (old.status, old.tries, old.parked_at, old.accepted_at))
    or old.status <> new.status and new.status not in ('settled', 'failed')
    and (old.status, new.status) not in
      (('due', 'submitting'), ('submitting', 'submitted'), ('submitting', 'parked'), ('submitted', 'parked'), ('parked', 'due'))
    or (old.status, new.status) = ('due', 'submitting') and new.tries <= old.tries)
  execute function refuse_step();

create function require_ended_transaction() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if not exists (
    select from transaction x
    where x.workspace_id = new.workspace_id and x.id = new.transaction_id
      and x.status = case new.status when 'settled' then 'completed' else 'failed' end) then
    raise exception 'a payout ends with its transaction' using errcode = 'BK023';
  end if;
  return new;
end $$;
create trigger takes_end_of_transaction before update of status on payout for each row
  when (new.status <> old.status and new.status in ('settled', 'failed')) execute function require_ended_transaction();

create sequence decision_demand_id_seq maxvalue 9007199254740991;
-- A process with a decision hook has started: payouts that are made from then on need a decision, whatever process makes them, until an
-- operator ends the demand. At most one demand is open.
create table decision_demand (
  id bigint primary key default nextval('decision_demand_id_seq'),
  demanded_at timestamptz not null default statement_timestamp(),
  ended_at timestamptz,
  ended_by text check (char_length(ended_by) between 1 and 200),
  note text check (char_length(note) between 1 and 500),
  check ((ended_at is null) = (ended_by is null) and (ended_at is null) = (note is null))
);
create unique index decision_demand_open on decision_demand ((true)) where ended_at is null;
create trigger legal_step before update on decision_demand for each row
  when (old.ended_at is not null or new.ended_at is null) execute function refuse_step();

-- What was decided of a payout: once by the hook, and once by an operator if the hook holds it or has not decided.
create table payout_decision (
  workspace_id bigint not null,
  transaction_id bigint not null,
  decided_by text not null default 'hook' check (decided_by in ('hook', 'operator')),
  decision text not null check (decision in ('approve', 'hold', 'reject')),
  -- In the words of the hook or of the operator. Customers do not see it.
  reason text check (char_length(reason) between 1 and 500),
  operator text check (char_length(operator) between 1 and 200),
  decided_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, transaction_id, decided_by),
  constraint payout_decision_payout foreign key (workspace_id, transaction_id) references payout (workspace_id, transaction_id),
  check ((decided_by = 'operator') = (operator is not null)),
  check (decided_by = 'hook' or decision <> 'hold' and reason is not null)
);

-- An approval and a rejection are final. The lock lets one decision follow the other, and keeps the payout from being begun meanwhile.
create function require_undecided_payout() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  perform from payout p
  where p.workspace_id = new.workspace_id and p.transaction_id = new.transaction_id
    and p.needs_decision and p.status = 'due' and p.tries = 0
  for no key update;
  if not found or exists (
    select from payout_decision d
    where d.workspace_id = new.workspace_id and d.transaction_id = new.transaction_id
      and (d.decision <> 'hold' or d.decided_by = new.decided_by)) then
    raise exception 'a decision is of a payout that waits for one' using errcode = 'BK029';
  end if;
  return new;
end $$;
create trigger undecided before insert on payout_decision for each row execute function require_undecided_payout();

create function require_decision() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if not exists (
    select from payout_decision d
    where d.workspace_id = new.workspace_id and d.transaction_id = new.transaction_id and d.decision = 'approve') then
    raise exception 'a payout that needs a decision is submitted after its approval' using errcode = 'BK029';
  end if;
  return new;
end $$;
-- From `due`, a payout leads to a network by `submitting` only. What a network says of it is recorded in any status.
create trigger decided before update of status on payout for each row
  when (new.needs_decision and old.status = 'due' and new.status not in ('due', 'settled', 'failed')) execute function require_decision();
create trigger undecided before insert on payout for each row
  when (new.needs_decision and new.status <> 'due') execute function require_decision();

-- By network: payouts that wait for a decision, of at most 1000 the oldest, and the age of the oldest. With the rights of the owner, over
-- all workspaces.
create function held_payouts() returns table (rail text, payouts integer, seconds integer)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select h.rail, count(*)::integer, greatest(floor(extract(epoch from statement_timestamp() - min(h.created_at))), 0)::integer
  from (
    select p.rail, p.created_at from payout p where p.needs_decision and p.status = 'due' order by p.created_at limit 1000) h
  group by h.rail
$$;

create sequence payout_stop_id_seq maxvalue 9007199254740991;
-- A verification had findings: no payout is submitted until an operator resumes payouts. At most one stop is open.
create table payout_stop (
  id bigint primary key default nextval('payout_stop_id_seq'),
  stopped_at timestamptz not null default statement_timestamp(),
  finding_count integer not null check (finding_count > 0),
  workspace_ids bigint[] not null,
  -- The first findings, as evidence. They contain balances of any workspace, so only the provisioning role may read them.
  findings jsonb not null,
  resumed_at timestamptz,
  resumed_by text check (char_length(resumed_by) between 1 and 200),
  check ((resumed_at is null) = (resumed_by is null))
);
create unique index payout_stop_open on payout_stop ((true)) where resumed_at is null;

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
    case tg_op when 'INSERT' then '{"type": "system"}'::jsonb else audit_operator() end, null);
  return null;
end $$;

create trigger legal_step before update on payout_stop for each row
  when (old.resumed_at is not null or new.resumed_at is null) execute function refuse_step();
create trigger trail after insert or update on payout_stop for each row execute function trail_payout_stop();

create sequence remittance_event_id_seq maxvalue 9007199254740991;
-- What the network said of a payout.
create table remittance_event (
  workspace_id bigint not null,
  id bigint not null default nextval('remittance_event_id_seq'),
  transaction_id bigint not null,
  -- The provider's own name of the event: a repeated one is recorded once.
  provider_event text not null,
  status text not null,
  message text,
  reason_code text,
  -- The money is back on the account of the deployment at its bank, so it goes back to the customer also after it had arrived.
  is_return boolean not null default false,
  created_at timestamptz not null default statement_timestamp(),
  last_updated_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, id),
  constraint remittance_event_return check (not is_return or status = 'RJCT')
);
create unique index remittance_event_once on remittance_event (workspace_id, transaction_id, provider_event, status)
  where transaction_id is not null;

create sequence discrepancy_id_seq maxvalue 9007199254740991;
create table discrepancy (
  workspace_id bigint not null,
  id bigint not null default nextval('discrepancy_id_seq'),
  -- The transaction of the payout. A linked transaction that moves its money again is found from here by return_of.
  transaction_id bigint not null,
  kind text not null check (kind in ('credited_then_rejected', 'rejected_then_credited', 'event_reused')),
  -- The event that contradicts an earlier one.
  event_id bigint not null,
  opened_at timestamptz not null default statement_timestamp(),
  resolved_at timestamptz,
  -- `settled` without an operator: the bank has the money again, as the customer does.
  resolution text check (resolution in ('returned', 'reclaimed', 'dismissed', 'settled')),
  resolved_by text check (char_length(resolved_by) between 1 and 200),
  note text check (char_length(note) between 1 and 500),
  resolution_transaction_id bigint,
  primary key (workspace_id, id),
  unique (workspace_id, resolution_transaction_id),
  check ((resolved_at is null) = (resolution is null) and (resolved_at is null) = (resolved_by is null)),
  check (note is null or resolved_at is not null),
  check (resolution is distinct from 'dismissed' or note is not null),
  check ((resolution_transaction_id is not null) = coalesce(resolution in ('returned', 'reclaimed'), false)),
  check (kind <> 'credited_then_rejected' or resolution is distinct from 'reclaimed'),
  check (kind <> 'rejected_then_credited' or resolution is distinct from 'returned'),
  check (kind = 'rejected_then_credited' or resolution is distinct from 'settled'),
  constraint discrepancy_event foreign key (workspace_id, event_id) references remittance_event (workspace_id, id),
  constraint discrepancy_resolution_transaction foreign key (workspace_id, resolution_transaction_id)
    references transaction (workspace_id, id),
  constraint discrepancy_transaction foreign key (workspace_id, transaction_id) references transaction (workspace_id, id)
);
create index discrepancy_by_transaction on discrepancy (workspace_id, transaction_id);
create unique index discrepancy_open on discrepancy (workspace_id, transaction_id, kind) where resolved_at is null;
create index discrepancy_returned on discrepancy (resolved_at) where resolution = 'returned';

-- Payouts whose money may be at another place at the bank than in the books: those with an open discrepancy, and those whose money an
-- operator returned in the last days, because the bank may still have to. An operator accepts the difference by dismissing that the bank has
-- executed a rejected one. With the rights of the owner, over all workspaces.
create function contradicted_payouts(days integer) returns table (workspace_id bigint, transaction_id bigint)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select d.workspace_id, d.transaction_id from discrepancy d where d.resolved_at is null
  union
  select d.workspace_id, d.transaction_id from discrepancy d
  where d.resolution = 'returned' and d.resolved_at > statement_timestamp() - make_interval(days => $1) and not exists (
    select from discrepancy o
    where o.workspace_id = d.workspace_id and o.transaction_id = d.transaction_id and o.kind = 'rejected_then_credited'
      and o.resolution = 'dismissed' and o.resolved_at > d.resolved_at)
$$;

-- At commit, because the transaction takes its step after the event is written. Only `RJCT`, and `ACCC` and `ACSC`, may contradict the
-- status of the transaction. They may also agree with where a resolution, or a return of the bank, has brought the money since.
create function require_discrepancy() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
declare
  paid_out_id bigint;
  paid_out_status text;
  has_namesake boolean;
begin
  select x.id, x.status, exists (
           select from remittance_event e
           where e.workspace_id = new.workspace_id and e.transaction_id = new.transaction_id
             and e.provider_event = new.provider_event and e.status <> new.status)
  into paid_out_id, paid_out_status, has_namesake
  from transaction x
  where x.workspace_id = new.workspace_id and x.id = new.transaction_id
    and exists (select from payout p where p.workspace_id = new.workspace_id and p.transaction_id = new.transaction_id);
  -- Also if the database transaction has left the scope of the event, where nothing would be seen.
  if paid_out_id is null then
    raise exception 'a contradictory event needs its discrepancy' using errcode = 'BK010';
  end if;
  -- Conditions of values only come first: a condition with a query would be planned for each event.
  if (paid_out_status, new.status) in (('completed', 'RJCT'), ('failed', 'ACCC'), ('failed', 'ACSC')) then
    if not exists (
      select from discrepancy d
      where d.workspace_id = new.workspace_id and d.transaction_id = paid_out_id
        and (d.resolution_transaction_id is not null
          or d.kind = case new.status when 'RJCT' then 'credited_then_rejected' else 'rejected_then_credited' end))
      and not (new.status = 'RJCT' and exists (
          select from remittance_event e
          where e.workspace_id = new.workspace_id and e.transaction_id = paid_out_id and e.is_return)
        and exists (
          select from transaction r where r.workspace_id = new.workspace_id and r.return_of = paid_out_id)) then
      raise exception 'a contradictory event needs its discrepancy' using errcode = 'BK010';
    end if;
  end if;
  if has_namesake then
    if not exists (
      select from discrepancy d
      where d.workspace_id = new.workspace_id and d.transaction_id = paid_out_id and d.kind = 'event_reused') then
      raise exception 'a contradictory event needs its discrepancy' using errcode = 'BK010';
    end if;
  end if;
  return null;
end $$;

-- At commit, because a rejection posts the return before its transaction fails. Money that has arrived comes back if the bank has it again.
-- Otherwise it comes back, and money that has come back is taken again, only to resolve a discrepancy of the payout from which the chain
-- of returns begins. What the bank has again is not taken. Money of a deposit goes back only with the deposit.
create function require_return_reason() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if not exists (
       select from transaction x where x.workspace_id = new.workspace_id and x.id = new.return_of and x.status = 'failed')
     and not exists (
       select from remittance_event e
       where e.workspace_id = new.workspace_id and e.transaction_id = new.return_of and e.is_return)
     and not exists (
       with recursive returned (id, return_of, depth) as (
         select x.id, x.return_of, 0 from transaction x where x.workspace_id = new.workspace_id and x.id = new.return_of
         union all
         select x.id, x.return_of, r.depth + 1
         from returned r join transaction x on x.workspace_id = new.workspace_id and x.id = r.return_of)
       select from returned r join discrepancy d on d.workspace_id = new.workspace_id and d.transaction_id = r.id
       where d.resolution_transaction_id = new.id
         and d.resolution = case r.depth % 2 when 0 then 'returned' else 'reclaimed' end
         and (d.resolution = 'returned' or not exists (
           select from remittance_event e where e.workspace_id = new.workspace_id and e.transaction_id = r.id and e.is_return)))
     and not exists (
       select from deposit d
       where d.workspace_id = new.workspace_id and d.transaction_id = new.return_of and d.status in ('assigned', 'returned')) then
    raise exception 'a return needs a failed transaction or a discrepancy' using errcode = 'BK011';
  end if;
  return null;
end $$;

create trigger legal_step before update on discrepancy for each row
  when (old.resolved_at is not null or new.resolved_at is null) execute function refuse_step();
create constraint trigger contradiction_is_open after insert on remittance_event
  deferrable initially deferred for each row execute function require_discrepancy();
-- In the order in which a posting writes the tables, so that the migration and a posting wait for each other and do not deadlock. A
-- posting updates accounts after its transfers.
create constraint trigger return_has_reason after insert on transaction
  deferrable initially deferred for each row when (new.return_of is not null) execute function require_return_reason();

-- How far the events of a bank adapter are read. Each database has its own, so that each receives the events of its workspaces.
create table rail_cursor (
  rail text primary key check (rail ~ '^[a-z][a-z0-9-]{0,30}$'),
  -- The place of the last event that is stored, in the words of the adapter; null at the beginning.
  position text check (char_length(position) between 1 and 200),
  -- Until when a worker reads. By the clock of the database.
  leased_until timestamptz,
  fence bigint not null default 0 check (fence >= 0)
);
create trigger fenced before update of fence on rail_cursor for each row when (new.fence < old.fence) execute function refuse_change();

create sequence rail_event_id_seq maxvalue 9007199254740991;
-- Events of bank adapters that are stored and not recorded yet. A worker that has recorded one deletes it.
create table rail_event (
  id bigint primary key default nextval('rail_event_id_seq'),
  rail text not null references rail_cursor,
  position text not null check (char_length(position) between 1 and 200),
  key text not null check (char_length(key) between 1 and 64),
  provider_event text not null check (char_length(provider_event) between 1 and 100),
  status text not null check (char_length(status) between 1 and 35),
  reason_code text check (char_length(reason_code) between 1 and 35),
  message text check (char_length(message) between 1 and 500),
  -- Of its payment, as the adapter has it. In minor units.
  amount bigint not null check (amount > 0),
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  -- Whether the money is back at the bank.
  is_return boolean not null default false check (not is_return or status = 'RJCT'),
  received_at timestamptz not null default clock_timestamp(),
  -- Until when a worker has it, which may delete it.
  handed_until timestamptz,
  unique (rail, position)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
create index rail_event_by_delivery on rail_event (rail, (greatest(received_at, handed_until)));
create index rail_event_by_key on rail_event (key, rail);

create table sandbox_rail_payment (
  key text primary key,
  amount bigint not null check (amount > 0),
  currency text not null,
  -- How often it was handed over. It is one payment all the same.
  submissions integer not null default 1,
  accepted_at timestamptz not null default clock_timestamp()
);

-- What the network says of a payment, from the time it says it. Delivered again and again until it is acknowledged.
create table sandbox_rail_event (
  key text not null,
  position integer not null,
  provider_event text not null,
  status text not null,
  reason_code text,
  due_at timestamptz not null,
  -- Until when a worker has it, which may acknowledge it.
  handed_until timestamptz,
  acknowledged boolean not null default false,
  primary key (key, "position"),
  foreign key (key) references sandbox_rail_payment (key)
) with (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.05, vacuum_truncate = off);
-- The content of each payment that the adapter of the sandbox network took over HTTP: the same key with other content is refused.
create table sandbox_rail_request (
  key text primary key,
  -- SHA-256 over the body in canonical JSON.
  fingerprint bytea not null check (length(fingerprint) = 32)
);

create sequence sandbox_rail_listed_id_seq maxvalue 9007199254740991;
-- The events that this adapter lists, in the order in which they became visible: an id is the place of its event.
create table sandbox_rail_listed (
  id bigint primary key default nextval('sandbox_rail_listed_id_seq'),
  key text not null,
  provider_event text not null,
  status text not null,
  reason_code text
);

create index sandbox_rail_event_by_delivery on sandbox_rail_event ((greatest(due_at, handed_until))) where not acknowledged;

-- Payments between databases. A crossing is the payer's half: a pending transaction that credits `interworkspace`. An arrival is the
-- payee's
-- half, in the database of the payee: accepted with a completed transaction that debits `interworkspace`, or refused without one.
-- In each database and currency, the `interworkspace` accounts of all workspaces sum to its crossings that are not returned, less its
-- accepted arrivals. Over all databases this sum is that of the crossings that have not arrived yet.

create table crossing (
  workspace_id bigint not null,
  transaction_id bigint not null,
  -- 48 random bits. After a restore to an earlier moment the sequences give ids again: without them, a new crossing would have the arrival
  -- of a lost one. The service has no right to write the column.
  key_nonce text not null default right(gen_random_uuid()::text, 12) check (key_nonce ~ '^[0-9a-f]{12}$'),
  -- Of the account that is paid.
  account_code text not null,
  currency_id integer not null,
  -- In minor units, after a conversion and without the fee.
  amount bigint not null check (amount > 0),
  status text not null default 'due' check (status in ('due', 'completed', 'returned')),
  created_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, transaction_id)
);

-- `workspace_id` is that of the payee. The key makes a call that is repeated one arrival.
create table arrival (
  workspace_id bigint not null,
  origin_workspace_id bigint not null,
  origin_transaction_id bigint not null,
  key_nonce text not null check (key_nonce ~ '^[0-9a-f]{12}$'),
  account_code text not null,
  currency_id integer not null,
  amount bigint not null check (amount > 0),
  outcome text not null check (outcome in ('accepted', 'refused')),
  -- The payee's half.
  transaction_id bigint,
  created_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, origin_workspace_id, origin_transaction_id, key_nonce),
  unique (workspace_id, transaction_id),
  check ((outcome = 'accepted') = (transaction_id is not null))
);

-- At commit, because the transaction is written before its crossing and takes its step after it.
create function require_transaction_of_crossing() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if not exists (
    select from crossing c join transaction x on x.workspace_id = c.workspace_id and x.id = c.transaction_id
    where c.workspace_id = new.workspace_id and c.transaction_id = new.transaction_id
      and x.status = case c.status when 'due' then 'pending' when 'completed' then 'completed' else 'failed' end
      and (c.status <> 'returned'
        or exists (select from transaction r where r.workspace_id = c.workspace_id and r.return_of = c.transaction_id))
      and exists (
        select from leg t join account a on a.workspace_id = t.workspace_id and a.id = t.account_id
        where t.workspace_id = c.workspace_id and t.transaction_id = c.transaction_id
          and a.kind = 'interworkspace' and t.direction = 'credit' and t.amount = c.amount and t.currency_id = c.currency_id)) then
    raise exception 'a crossing needs its transaction, with its amount and its status' using errcode = 'BK019';
  end if;
  return null;
end $$;

create function require_transaction_of_arrival() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if not exists (
    select from transaction x
    where x.workspace_id = new.workspace_id and x.id = new.transaction_id and x.status = 'completed'
      and exists (
        select from account_code k join transfer t on t.workspace_id = k.workspace_id and t.account_id = k.account_id
        where k.code = new.account_code and k.workspace_id = new.workspace_id and t.transaction_id = x.id
          and t.direction = 'credit' and t.amount = new.amount and t.currency_id = new.currency_id)
      and exists (
        select from leg t join account a on a.workspace_id = t.workspace_id and a.id = t.account_id
        where t.workspace_id = new.workspace_id and t.transaction_id = x.id
          and a.kind = 'interworkspace' and t.direction = 'debit' and t.amount = new.amount and t.currency_id = new.currency_id)) then
    raise exception 'an accepted arrival needs its transaction, with its amount on its account' using errcode = 'BK020';
  end if;
  return null;
end $$;

create type posted_arrival as (
  workspace_id bigint, origin_workspace_id bigint, origin_transaction_id bigint, key_nonce text, account_code text, currency_id integer,
  amount bigint, outcome text, transaction_id bigint);

/**
 * The payee's halves of payments from other databases, with what was accepted and refused. In the order of the key, so that two batches
 * with the same keys wait for each other and cannot deadlock.
 */
create function post_arrivals(transactions posted_transaction[], transfers posted_transfer[], arrivals posted_arrival[])
  returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if exists (
       select from unnest(transactions) x
       where x.return_of is not null or x.status is distinct from 'completed' or x.conversion is distinct from null or x.is_submitted)
     or exists (select from posted_legs(transfers) t where (t.type in ('internal', 'spot')) is not true)
     or not has_sides_only(transfers, array['interworkspace debit', 'customer credit'])
     or exists (
       (select t.workspace_id, t.transaction_id, t.currency_id, t.amount from posted_legs(transfers) t where t.direction = 'credit')
       except all
       (select a.workspace_id, a.transaction_id, a.currency_id, a.amount from unnest(arrivals) a where a.outcome = 'accepted')) then
    raise exception 'not the postings of arrivals' using errcode = 'BK021';
  end if;
  perform write_books(transactions, transfers);
  insert into arrival (workspace_id, origin_workspace_id, origin_transaction_id, key_nonce, account_code, currency_id, amount, outcome,
    transaction_id)
  select a.* from unnest(arrivals) a
  order by a.workspace_id, a.origin_workspace_id, a.origin_transaction_id, a.key_nonce;
end $$;

create constraint trigger has_transaction after insert or update on crossing
  deferrable initially deferred for each row execute function require_transaction_of_crossing();
create trigger legal_step before update of status on crossing for each row
  when (old.status <> new.status and (old.status, new.status) not in (('due', 'completed'), ('due', 'returned')))
  execute function refuse_step();
create constraint trigger has_transaction after insert on arrival
  deferrable initially deferred for each row when (new.outcome = 'accepted') execute function require_transaction_of_arrival();

/**
 * Locks the transactions of payouts, and returns their statuses. In the order of their ids, so that two batches wait for each other and
 * cannot deadlock. No role may update the rows, which a lock of its own needs.
 */
create function lock_payouts(workspace_ids bigint[], transaction_ids bigint[])
  returns table (workspace_id bigint, transaction_id bigint, status text)
  language sql security definer set search_path = banking, pg_temp as $$
  select x.workspace_id, x.id, x.status
  from (select * from unnest(workspace_ids, transaction_ids) u (w, i) order by w, i) u
  cross join lateral (
    select p.transaction_id from payout p where p.workspace_id = u.w and p.transaction_id = u.i limit 1) p
  cross join lateral (
    select x.workspace_id, x.id, x.status from transaction x where x.workspace_id = u.w and x.id = u.i for no key update) x
$$;

-- What a payment network, another database or an operator says of a pending payment: an event of the network, the end of the payment, or both.
create type settlement as (
  workspace_id bigint, transaction_id bigint,
  -- The event, and which discrepancies it opens if it is recorded.
  provider_event text, event_status text, reason_code text, message text, discrepancies text[],
  -- `completed` or `failed`, and why an operator ended it.
  final_status text, reason text,
  -- Whether the event says that the money is back.
  is_return boolean);

/**
 * Records events, and gives payments their final status; the returns of those that fail were posted before, in the same database
 * transaction. At most one settlement of a payment.
 * (a) A pending payout is completed by `ACCC` or `ACSC`. It fails by `RJCT`, or without an event as long as no network is known to have it
 *     and no worker may be submitting it: before the first try, or while it is parked. That the network does not have it, the caller knows.
 * (b) A crossing ends without an event: what the other database answered, only the caller knows.
 * (c) What fails has come back. Only an event that comes after the end contradicts it, but for one that says that the money is back.
 * An event that is recorded already is not recorded again, and opens nothing.
 * (d) A payment that was rejected, executed and returned, in any order, is even: its discrepancy is settled.
 *
 * @param noted_by who ends the payments, for the audit trail; null if the caller notes it
 */
create function settle_payments(settlements settlement[], noted_by text) returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  ended record;
begin
  -- What is compared stays until the end. Callers that end payouts hold these locks already.
  perform from (select u.workspace_id, u.transaction_id from unnest(settlements) u order by 1, 2) s
  cross join lateral (
    select from transaction x where x.workspace_id = s.workspace_id and x.id = s.transaction_id for no key update) x;
  perform from (
    select u.workspace_id, u.transaction_id from unnest(settlements) u where u.final_status is not null order by 1, 2) s
  cross join lateral (
    select from payout p where p.workspace_id = s.workspace_id and p.transaction_id = s.transaction_id for no key update) p;
  if exists (
    select from unnest(settlements) s
    left join lateral (
      select x.status from transaction x where x.workspace_id = s.workspace_id and x.id = s.transaction_id limit 1) x on true
    left join lateral (
      select p.transaction_id, p.status, p.tries, p.accepted_at from payout p
      where p.workspace_id = s.workspace_id and p.transaction_id = s.transaction_id limit 1) p on true
    left join lateral (
      select c.transaction_id from crossing c
      where c.workspace_id = s.workspace_id and c.transaction_id = s.transaction_id limit 1) c on true
    where s.provider_event is null and s.final_status is null
      or s.provider_event is not null and p.transaction_id is null
      or s.final_status is not null and (x.status = 'pending' and case
          when c.transaction_id is not null then s.final_status in ('completed', 'failed')
          when p.transaction_id is null then false
          when s.provider_event is null then s.final_status = 'failed' and p.accepted_at is null
            and (p.status = 'parked' or p.status = 'due' and p.tries = 0)
          else (s.event_status, s.final_status) in (('ACCC', 'completed'), ('ACSC', 'completed'), ('RJCT', 'failed')) end) is not true
      or x.status = 'pending' and s.event_status in ('ACCC', 'ACSC', 'RJCT') and s.final_status is null
      or 'credited_then_rejected' = any (s.discrepancies) and (s.event_status <> 'RJCT' or x.status = 'pending')
      or 'rejected_then_credited' = any (s.discrepancies) and (s.event_status not in ('ACCC', 'ACSC') or x.status = 'pending')
      -- `offset 0`: found by the returned transaction, not among all of the workspace.
      or s.final_status = 'failed' and not exists (
        select from transaction r where r.workspace_id = s.workspace_id and r.return_of = s.transaction_id offset 0)
    union all
    select from unnest(settlements) s group by s.workspace_id, s.transaction_id having count(*) > 1) then
    raise exception 'a payment ends by its event, its crossing or an operator, and fails with its return' using errcode = 'BK023';
  end if;
  with recorded as (
    insert into remittance_event (workspace_id, transaction_id, provider_event, status, reason_code, message, is_return)
    select s.workspace_id, s.transaction_id, s.provider_event, s.event_status, s.reason_code, s.message, coalesce(s.is_return, false)
    from unnest(settlements) s where s.provider_event is not null
    on conflict (workspace_id, transaction_id, provider_event, status) where transaction_id is not null do nothing
    returning workspace_id, id, transaction_id),
  opened as (
    insert into discrepancy (workspace_id, transaction_id, kind, event_id)
    select r.workspace_id, r.transaction_id, kind, r.id
    from recorded r
    join unnest(settlements) s on s.workspace_id = r.workspace_id and s.transaction_id = r.transaction_id
    cross join unnest(s.discrepancies) kind
    on conflict (workspace_id, transaction_id, kind) where resolved_at is null do nothing
    returning workspace_id, id)
  -- One row for each workspace, in their order, so that two batches cannot deadlock.
  insert into audit_outbox (workspace_id, entries)
  select o.workspace_id, jsonb_agg(jsonb_build_object('operation', 'openDiscrepancy', 'outcome', 'done', 'resourceType', 'discrepancy',
           'resourceId', o.id, 'actor', jsonb_build_object('type', 'network')) order by o.id)
  from opened o group by o.workspace_id order by o.workspace_id;
  if exists (select from unnest(settlements) s where s.is_return or 'rejected_then_credited' = any (s.discrepancies)) then
    with settled as (
      update discrepancy d set resolved_at = statement_timestamp(), resolution = 'settled'
      from unnest(settlements) s
      where d.workspace_id = s.workspace_id and d.transaction_id = s.transaction_id and d.kind = 'rejected_then_credited'
        and d.resolved_at is null and exists (
          select from remittance_event e where e.workspace_id = s.workspace_id and e.transaction_id = s.transaction_id and e.is_return)
      returning d.workspace_id, d.id)
    insert into audit_outbox (workspace_id, entries)
    select d.workspace_id, jsonb_agg(jsonb_build_object('operation', 'resolveDiscrepancy', 'outcome', 'done', 'resourceType', 'discrepancy',
             'resourceId', d.id, 'actor', jsonb_build_object('type', 'network')) order by d.id)
    from settled d group by d.workspace_id order by d.workspace_id;
  end if;
  if noted_by = 'network' then
    update payout p set accepted_at = statement_timestamp(), updated_at = statement_timestamp()
    from unnest(settlements) s
    where s.provider_event is not null and s.final_status is null and p.workspace_id = s.workspace_id and p.transaction_id = s.transaction_id
      and p.accepted_at is null and p.status not in ('settled', 'failed');
  end if;
  if not exists (select from unnest(settlements) s where s.final_status is not null) then
    return;
  end if;
  update crossing c set status = case s.final_status when 'completed' then 'completed' else 'returned' end
  from unnest(settlements) s
  where s.final_status is not null and c.workspace_id = s.workspace_id and c.transaction_id = s.transaction_id;
  -- The locks keep the `ctid` of a row as it is: each is found by its key, whatever the planner expects of the table.
  update transaction x set status = s.final_status, updated_at = statement_timestamp()
  from unnest(settlements) s
  cross join lateral (
    select o.ctid as place from transaction o where o.workspace_id = s.workspace_id and o.id = s.transaction_id offset 0) o
  where s.final_status is not null and x.ctid = o.place;
  -- The payout has a status of its own; customers see that of the transaction.
  update payout p set status = case s.final_status when 'completed' then 'settled' else 'failed' end, parked_at = null, reason = s.reason,
    updated_at = statement_timestamp()
  from unnest(settlements) s
  cross join lateral (
    select o.ctid as place from payout o where o.workspace_id = s.workspace_id and o.transaction_id = s.transaction_id offset 0) o
  where s.final_status is not null and p.ctid = o.place;
  -- Row by row, because `work` seems empty to the planner, which would read it for each settlement.
  for ended in select s.workspace_id, s.transaction_id from unnest(settlements) s where s.final_status is not null order by 1, 2 loop
    delete from work w
    where w.workspace_id = ended.workspace_id and w.kind = 'payout' and w.subject_id = ended.transaction_id;
  end loop;
  insert into audit_outbox (workspace_id, entries)
  select s.workspace_id, jsonb_agg(jsonb_build_object(
           'operation', case s.final_status when 'completed' then 'completeTransaction' else 'failTransaction' end, 'outcome', 'done',
           'resourceType', 'transaction', 'resourceId', s.transaction_id, 'actor', jsonb_build_object('type', noted_by))
           order by s.transaction_id)
  from unnest(settlements) s where s.final_status is not null and noted_by is not null
  group by s.workspace_id order by s.workspace_id;
end $$;
