-- The books: accounts, transactions, their transfers and conversions, and the rules that keep them balanced whatever the program does.

create sequence account_id_seq maxvalue 9007199254740991;
create sequence transfer_id_seq maxvalue 9007199254740991;
create table account (
  workspace_id bigint not null references workspace,
  id bigint not null default nextval('account_id_seq'),
  kind text not null default 'customer' check (kind in ('customer', 'settlement', 'fees', 'fx', 'interworkspace')),
  currency_id integer not null references currency,
  product_id bigint references product,
  name text not null,
  alias text,
  type text not null,
  code text not null,
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  -- Balance and version are moved by write_books alone. Our own accounts keep zero here: theirs is the sum of their legs.
  balance bigint not null default 0 check (balance between -9007199254740991 and 9007199254740991),
  version bigint not null default 0 check (version >= 0),
  balance_id bigint not null default nextval('transfer_id_seq'),
  balance_at timestamptz not null default now(),
  -- Hash of the latest transaction that touched the account; empty before the first.
  head bytea not null default '' check (length(head) in (0, 32)),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id),
  -- A code leads to the account that carries it and to no other.
  constraint account_carries_code unique (workspace_id, id, currency_id, code),
  unique (workspace_id, id, currency_id),
  check (kind <> 'customer' or product_id is not null),
  constraint customer_not_below_zero check (kind <> 'customer' or balance >= 0)
) with (fillfactor = 50);
-- Indexes that begin with the workspace cost the same while a table is small, and the plan stays when it grows. So in tables of payments,
-- an index leaves out the rows without its second column, although there are none: a statement that names another column
-- cannot take it.
create unique index account_of_code on account (workspace_id, code) where code is not null;
create index customer_account_by_time on account (workspace_id, created_at desc, id desc) where kind = 'customer';
create unique index own_account on account (workspace_id, currency_id, kind) where kind <> 'customer';

-- Which account a code names: the one thing a workspace may find out about another. Read by all, written only for one's own.
create table account_code (
  code text primary key,
  workspace_id bigint not null,
  account_id bigint not null,
  currency_id integer not null,
  constraint account_code_account foreign key (workspace_id, account_id, currency_id, code)
    references account (workspace_id, id, currency_id, code)
);

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
  primary key (workspace_id, id),
  constraint account_change_account foreign key (workspace_id, account_id) references account (workspace_id, id)
);
create index account_change_by_account on account_change (workspace_id, account_id, id);

create sequence transaction_id_seq maxvalue 9007199254740991;
create table transaction (
  workspace_id bigint not null,
  id bigint not null default nextval('transaction_id_seq'),
  status text not null check (status in ('pending', 'completed', 'failed')),
  -- SHA-256, as the digests.
  hash bytea not null check (length(hash) = 32),
  -- Money that came back: a transaction is returned once, in full.
  return_of bigint,
  created_at timestamptz not null default statement_timestamp(),
  updated_at timestamptz not null default statement_timestamp(),
  order_digest bytea,
  -- At what rate it converted, and what rounding left over, in parts of a minor unit of the target currency. The view `conversion` shows it.
  conversion_digest bytea,
  quote_id bigint,
  source_currency_id integer,
  source_amount bigint,
  target_currency_id integer,
  target_amount bigint,
  rate text,
  rate_source text,
  rate_as_of timestamptz,
  rounding text,
  remainder_numerator numeric,
  remainder_denominator numeric,
  -- Which amount the caller fixed: `source` or `target`.
  fixed_side text,
  primary key (workspace_id, id),
  constraint transaction_digests check (length(order_digest) = 32 and length(conversion_digest) = 32),
  constraint transaction_return_of foreign key (workspace_id, return_of) references transaction (workspace_id, id)
);
-- Pending and failed transactions are few beside the completed ones, and a transaction leaves the index when it completes.
create index transaction_not_completed on transaction (workspace_id, status, created_at desc, id desc)
  where status <> 'completed';
create unique index transaction_returned_once on transaction (workspace_id, return_of) where return_of is not null;
-- No statement searches by digests. Sorting samples of long texts takes most of the time of an ANALYZE.
alter table transaction alter column hash set statistics 0, alter column order_digest set statistics 0,
  alter column conversion_digest set statistics 0;

-- A leg of an account of the service itself. A credit is above zero, a debit below.
create type own_leg as (id bigint, account_id bigint, currency_id integer, type text, amount bigint);

-- The transfers of customers' accounts. `own_legs` has the sides of the service's own accounts, each with its id, account, currency, type and
-- amount in minor units, above zero for a credit. The view `leg` has all sides as rows.
create table transfer (
  workspace_id bigint not null,
  id bigint not null default nextval('transfer_id_seq'),
  transaction_id bigint not null,
  account_id bigint not null,
  currency_id integer not null,
  direction text not null check (direction in ('debit', 'credit')),
  amount bigint not null check (amount > 0),
  type text not null,
  description text,
  purpose text,
  fee_amount bigint check (fee_amount >= 0),
  recipient_id bigint,
  account_version bigint,
  balance_after bigint check (balance_after between -9007199254740991 and 9007199254740991),
  created_at timestamptz not null default statement_timestamp(),
  recipient_digest bytea,
  -- The hash of the transaction covers the description by this digest. Once the description is erased, only the digest is left.
  description_salt bytea,
  description_digest bytea,
  -- The other sides of the transaction, with the first transfer of it: two rows are written for a converted payment abroad and not six.
  own_legs own_leg[],
  primary key (workspace_id, transaction_id, id),
  -- Not said of the columns: the planner would leave out conditions that are true of every row, and indexes are chosen by them.
  constraint transfer_moves_balance check (account_version is not null and balance_after is not null),
  -- A transfer never changes, so that a constraint does not meet text from before. Control characters were never allowed.
  constraint transfer_description check (description !~ '[\u0001-\u001f\u007f-\u009f]'),
  constraint transfer_description_digest check ((description is null) = (description_salt is null)
    and (description is null or description_digest is not null) and length(description_salt) = 16 and length(description_digest) = 32),
  constraint transfer_recipient_digest check ((recipient_id is null) = (recipient_digest is null) and length(recipient_digest) = 32)
);
alter table transfer alter column recipient_digest set statistics 0, alter column description_salt set statistics 0,
  alter column description_digest set statistics 0, alter column own_legs set statistics 0;
create index account_transfer_by_class on transfer (workspace_id, account_id, type, direction, created_at desc, id desc)
  where balance_after is not null;
create index recipient_transfer_by_class on transfer (workspace_id, recipient_id, type, direction, created_at desc, id desc)
  where balance_after is not null and recipient_id is not null;
create index transfer_by_class on transfer (workspace_id, type, direction, created_at desc, id desc)
  where account_version is not null;
create unique index transfer_by_id on transfer (workspace_id, id) where account_version is not null;
create unique index transfer_version on transfer (workspace_id, account_id, account_version)
  where account_version is not null;

-- Every leg of each transaction, a row for each. What it is for stands with the transfer of the customer. The planner joins nothing to one
-- side of a union: a statement that joins it to other rows looks it up for each of them, in a `lateral` subquery with `offset 0`.
create view leg with (security_invoker = true) as
select workspace_id, id, transaction_id, account_id, currency_id, direction, amount, type, description, purpose, fee_amount, recipient_id,
       recipient_digest, account_version, balance_after, created_at, description_salt, description_digest
from transfer
union all
select t.workspace_id, o.id, t.transaction_id, o.account_id, o.currency_id, case when o.amount > 0 then 'credit' else 'debit' end,
       coalesce(abs(o.amount), 0), o.type, null, null, null, null, null, null, null, t.created_at, null, null
from transfer t cross join lateral unnest(t.own_legs) o;

-- The transactions that converted.
create view conversion with (security_invoker = true) as
select workspace_id, id as transaction_id, quote_id, source_currency_id, source_amount, target_currency_id, target_amount, rate, rate_source,
       rate_as_of, rounding, remainder_numerator, remainder_denominator, fixed_side, created_at
from transaction where source_amount is not null;

create sequence unverified_posting_id_seq maxvalue 9007199254740991;
create table unverified_posting (
  id bigint primary key default nextval('unverified_posting_id_seq'),
  -- The workspace of each transaction.
  workspace_ids bigint[] not null,
  transaction_ids bigint[] not null,
  check (cardinality(workspace_ids) = cardinality(transaction_ids) and cardinality(transaction_ids) > 0)
) with (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.05, vacuum_truncate = off);

-- Where the repeated verification of all rows stands, over all workspaces. It also reaches rows that no trigger saw.
create table verification_position (
  subject text check (subject in ('account', 'transaction')) primary key,
  last_workspace_id bigint not null default 0,
  last_id bigint not null default 0
);

insert into verification_position (subject) values ('account'), ('transaction');

-- What a posting writes, an array of each for a batch. A later shape is a type of its own, with functions of its own, beside these.
create type posted_conversion as (
  digest bytea, quote_id bigint, source_currency_id integer, source_amount bigint, target_currency_id integer, target_amount bigint,
  rate text, rate_source text, rate_as_of timestamptz, rounding text, remainder_numerator numeric, remainder_denominator numeric,
  fixed_side text);
-- What a payment counts in a currency of limits that is neither its own nor the one that it arrives in.
create type converted_amount as (currency_id integer, rate text, amount bigint);
create type posted_transaction as (
  workspace_id bigint, id bigint, status text, hash bytea, return_of bigint, order_digest bytea, conversion posted_conversion,
  -- In a sandbox, another system may have submitted a payout.
  is_submitted boolean,
  -- Of a payout: the payment network that carries it, and the document that stated the terms of its corridor.
  rail text, terms_change_id bigint,
  converted_amounts converted_amount[],
  -- When it is booked: now, or not before what was booked on its accounts. The hash covers it.
  created_at timestamptz);
create type posted_transfer as (
  workspace_id bigint, id bigint, transaction_id bigint, account_id bigint, currency_id integer, direction text, amount bigint, type text,
  description text, purpose text, fee_amount bigint, recipient_id bigint, recipient_digest bytea, account_version bigint,
  balance_after bigint, own_legs own_leg[], description_salt bytea);

-- Every leg of what a posting writes, as the view `leg` has those that are written.
create function posted_legs(transfers posted_transfer[])
  returns table (workspace_id bigint, transaction_id bigint, account_id bigint, currency_id integer, direction text, amount bigint, type text)
  language sql immutable as $$
  select t.workspace_id, t.transaction_id, t.account_id, t.currency_id, t.direction, t.amount, t.type from unnest(transfers) t
  union all
  select t.workspace_id, t.transaction_id, o.account_id, o.currency_id, case when o.amount > 0 then 'credit' else 'debit' end, abs(o.amount),
         o.type
  from unnest(transfers) t cross join lateral unnest(t.own_legs) o
$$;

/**
 * Writes the books, moves the balances of customers' accounts, and notes what changed; for the functions below: no role may execute it.
 * It refuses books that do not add up:
 * (a) a posting has the transfers of its transactions: balanced ones could be added to an earlier transaction otherwise, whose hash does
 * not cover them; (b) the legs of a transaction sum to zero per currency, and each is one; (c) the legs of customers are on their accounts
 * and the others on accounts of the service itself, of the workspace and the currency, and name recipients of the workspace;
 * (d) conversions are their amounts at their rates; (e) on a customer's account, transfers continue its version and its balance step by
 * step, never below zero, and while it is disabled only if money comes back;
 * (f) times of an account never run backwards, also where the clock of the server does: a statement of a period that ends later has all
 * movements of one that ends earlier. Only an account with a later time takes a transaction ahead of the clock, a microsecond for each.
 * In the order of the unique key of returns, so that two batches with the same keys wait for each other and cannot deadlock.
 */
create function write_books(transactions posted_transaction[], transfers posted_transfer[]) returns void
  language plpgsql set search_path = banking, pg_temp as $$
declare
  fault text;
  latest timestamptz;
  accounts_moved bigint;
  accounts_given bigint;
begin
  with leg as materialized (
    select t.workspace_id, t.transaction_id, t.id, t.account_id, t.currency_id, t.recipient_id, true as is_of_customer,
           case t.direction when 'credit' then t.amount else -t.amount end as moved, true as is_whole
    from unnest(transfers) t
    union all
    select t.workspace_id, t.transaction_id, o.id, o.account_id, o.currency_id, null, false, o.amount,
           num_nulls(o.id, o.account_id, o.type) = 0 and o.id > 0 and o.amount <> 0 and o.amount between -9007199254740991 and 9007199254740991
    from unnest(transfers) t cross join lateral unnest(t.own_legs) o)
  select case
      when exists (
        select from (select distinct workspace_id, transaction_id from leg) t
        full join unnest(transactions) x on x.workspace_id = t.workspace_id and x.id = t.transaction_id
        where x.id is null or t.transaction_id is null) then 'BK021'
      when exists (
        select from leg group by workspace_id, transaction_id, currency_id
        having sum(moved) <> 0 or bool_and(is_whole) is not true or count(is_whole) < count(*))
        or exists (
        select from leg group by workspace_id, transaction_id having count(distinct id) < count(*)) then 'BK001'
      when exists (
        select from (select distinct workspace_id, account_id, currency_id, is_of_customer from leg) l
        left join lateral (
          select a.kind from account a
          where a.workspace_id = l.workspace_id and a.id = l.account_id and a.currency_id = l.currency_id limit 1) a on true
        where ((a.kind = 'customer') = l.is_of_customer) is not true) then 'account'
      when exists (
        select from (select distinct workspace_id, recipient_id from leg where recipient_id is not null) l
        where (select r.id from recipient r where r.workspace_id = l.workspace_id and r.id = l.recipient_id and r.erased_at is null) is null)
        then 'recipient'
      -- As prove_quote: what arrives and what is left over are the amount at the rate, exactly.
      else (
        select f.fault
        from (
          select case
              when num_nulls(c.digest, c.source_currency_id, c.source_amount, c.target_currency_id, c.target_amount, c.rate, c.rate_source,
                  c.rate_as_of, c.rounding, c.remainder_numerator, c.remainder_denominator, c.fixed_side) <> 0
                or c.source_amount <= 0 or c.target_amount <= 0 or c.target_currency_id = c.source_currency_id
                or c.rate !~ '^(0|[1-9][0-9]{0,14})([.][0-9]{1,15})?$' or char_length(ltrim(replace(c.rate, '.', ''), '0')) > 15
                or not isfinite(c.rate_as_of) or has_forbidden_character(c.rate_source)
                or c.rounding <> 'down' or c.fixed_side not in ('source', 'target')
                or c.remainder_denominator <= 0 or c.remainder_numerator < 0
                or (c.remainder_denominator < 'Infinity' and c.remainder_numerator < 'Infinity') is not true
                or c.remainder_denominator <> trunc(c.remainder_denominator) or c.remainder_numerator <> trunc(c.remainder_numerator)
                or c.fixed_side = 'source' and c.remainder_numerator >= c.remainder_denominator then 'a conversion has all its terms, and rounds down'
              when num_nulls(s.scale, t.scale) > 0 then 'a conversion needs two currencies'
              when (c.target_amount * c.remainder_denominator + c.remainder_numerator) * s.scale
                is distinct from c.source_amount * c.rate::numeric * t.scale * c.remainder_denominator then 'a conversion is not its amount at its rate'
              when c.fixed_side = 'target'
                and c.remainder_numerator * s.scale >= c.rate::numeric * t.scale * c.remainder_denominator
                then 'a conversion takes more than its target amount needs' end as fault
          from unnest(transactions) x
          cross join lateral (select (x.conversion).*) c
          left join lateral (select power(10::numeric, decimals) as scale from currency where id = c.source_currency_id limit 1) s on true
          left join lateral (select power(10::numeric, decimals) as scale from currency where id = c.target_currency_id limit 1) t on true
          where x.conversion is distinct from null) f
        where f.fault is not null limit 1)
    end,
    (select max(x.created_at) from unnest(transactions) x)
  into fault, latest;
  case
    when fault is null then null;
    when fault = 'BK021' then raise exception 'a posting has the transfers of its transactions' using errcode = 'BK021';
    when fault = 'BK001' then raise exception 'unbalanced transaction' using errcode = 'BK001';
    when fault = 'account' then
      raise exception 'a transfer needs an account of its kind, workspace and currency'
        using errcode = 'foreign_key_violation', table = 'transfer', constraint = 'transfer_account';
    when fault = 'recipient' then
      raise exception 'a transfer needs a recipient of its workspace'
        using errcode = 'foreign_key_violation', table = 'transfer', constraint = 'transfer_recipient';
    else raise exception '%', fault using errcode = 'BK006';
  end case;
  if latest > greatest(now(), statement_timestamp()) and (latest <= (
       select max(a.balance_at) + cardinality(transactions) * interval '1 microsecond'
       from (select distinct t.workspace_id, t.account_id from unnest(transfers) t) l
       join account a on a.workspace_id = l.workspace_id and a.id = l.account_id)) is not true then
    raise exception 'a transaction is booked now, or directly after its accounts' using errcode = 'check_violation', table = 'transaction';
  end if;

  insert into transaction (workspace_id, id, status, hash, return_of, order_digest, conversion_digest, quote_id, source_currency_id,
    source_amount, target_currency_id, target_amount, rate, rate_source, rate_as_of, rounding, remainder_numerator, remainder_denominator,
    fixed_side, created_at, updated_at)
  select x.workspace_id, x.id, x.status, x.hash, x.return_of, x.order_digest, (x.conversion).*, x.created_at, x.created_at
  from unnest(transactions) x order by x.workspace_id, x.return_of;
  with booked as materialized (
    select t.*, x.hash, x.created_at
    from unnest(transfers) t join unnest(transactions) x on x.workspace_id = t.workspace_id and x.id = t.transaction_id),
  written as (
    insert into transfer (workspace_id, id, transaction_id, account_id, currency_id, direction, amount, type, description, purpose,
      fee_amount, recipient_id, recipient_digest, account_version, balance_after, own_legs, description_salt, created_at,
      description_digest)
    select b.workspace_id, b.id, b.transaction_id, b.account_id, b.currency_id, b.direction, b.amount, b.type, b.description, b.purpose,
           b.fee_amount, b.recipient_id, b.recipient_digest, b.account_version, b.balance_after, b.own_legs, b.description_salt, b.created_at,
           case when b.description is not null then salted_digest(b.description_salt, array[b.description]) end
    from booked b),
  running as (
    select b.workspace_id, b.account_id, b.id, b.account_version, b.balance_after, b.type, b.hash, b.created_at,
           sum(case b.direction when 'credit' then b.amount else -b.amount end)
              over (partition by b.workspace_id, b.account_id order by b.account_version rows unbounded preceding) as moved,
           lead(b.id) over by_version is null as is_last,
           coalesce(lag(b.created_at) over by_version <= b.created_at, true) as is_in_order
    from booked b
    window by_version as (partition by b.workspace_id, b.account_id order by b.account_version)),
  step as (
    select workspace_id, account_id,
           min(account_version) as first_version, max(account_version) as last_version, count(*) as legs,
           min(balance_after - moved) as balance_before, max(balance_after - moved) as balance_before_max,
           min(balance_after) as lowest, min(created_at) as first_at, max(created_at) as last_at, bool_and(is_in_order) as is_in_order,
           max(balance_after) filter (where is_last) as balance_last,
           max(id) filter (where is_last) as last_id,
           (array_agg(hash) filter (where is_last))[1] as last_hash,
           bool_and(type = 'return') as only_returns
    from running
    group by workspace_id, account_id),
  changed as (
    update account a
    set balance = s.balance_last, version = s.last_version, balance_id = s.last_id, balance_at = s.last_at, head = s.last_hash
    from step s
    where a.workspace_id = s.workspace_id and a.id = s.account_id
      and a.kind = 'customer'
      and a.version = s.first_version - 1
      and s.legs = s.last_version - s.first_version + 1
      and a.balance = s.balance_before and s.balance_before = s.balance_before_max
      and s.lowest >= 0
      and a.balance_at <= s.first_at and s.is_in_order
      and (a.status = 'enabled' or s.only_returns)
    returning 1)
  select count(*), (select count(*) from step) into accounts_moved, accounts_given from changed;
  if accounts_moved <> accounts_given then
    raise exception 'transfer does not continue its account' using errcode = 'BK002';
  end if;

  with noted as (
    insert into change_outbox (resource_type, workspace_ids, resource_ids, statuses, first_ids, second_ids, third_ids)
    select 'transaction', array_agg(x.workspace_id), array_agg(x.id), array_agg(x.status), array_agg(x.return_of), null, null
    from unnest(transactions) x having count(*) > 0
    union all
    select 'transfer', array_agg(t.workspace_id), array_agg(t.id), null, array_agg(t.account_id), array_agg(t.transaction_id),
           array_agg(t.recipient_id)
    from unnest(transfers) t having count(*) > 0)
  insert into unverified_posting (workspace_ids, transaction_ids)
  select array_agg(x.workspace_id), array_agg(x.id) from unnest(transactions) x having count(*) > 0;
end $$;

-- Whether each leg is on a kind of account and a side that is listed, such as `customer credit`.
create function has_sides_only(transfers posted_transfer[], sides text[]) returns boolean
  language plpgsql set search_path = banking, pg_temp as $$
begin
  return not exists (
    select from posted_legs(transfers) t
    where ((select a.kind from account a where a.workspace_id = t.workspace_id and a.id = t.account_id) || ' ' || t.direction
           = any (sides)) is not true);
end $$;

-- The four ways to write the books, each with the rights of the owner. No role may insert into the tables, so no role can post what its
-- functions refuse: money enters by a deposit only, which no service may execute.

/**
 * Payments, and with each pending one what it is carried out by: with payout and work if it credits a settlement account, and leaves over a
 * network; with crossing and work if it credits `interworkspace`, and pays the account of its
 * recipient in another database. Money leaves customers' accounts:
 * (a) Nothing is taken from a settlement or fee account, and the types are those of payments. Other rules depend on them: a return leaves
 * out fees, a disabled account takes returns. (b) An fx account takes and gives what the conversion of the transaction says, both.
 * (c) What is taken over from another workspace was given by a completed transaction of the batch. What a pending one gives goes to
 * another database. (d) What is pending leaves by one way, which ends it, and credits no customer: it may come back. What leaves over a
 * network is pending.
 *
 * @param leased_max how many payouts of each of the networks `leased_rails` a worker of the caller takes at once: these are written as begun
 *   and claimed, and returned. None while payouts are stopped or need decisions. If the worker ends, so does the lease, and the queue gives them to another one
 */
create function post_payments(transactions posted_transaction[], transfers posted_transfer[],
    leased_rails text[] default '{}', leased_max integer[] default '{}')
  returns table (workspace_id bigint, transaction_id bigint, key_nonce text, rail text)
  language plpgsql security definer set search_path = banking, pg_temp as $$
#variable_conflict use_column
declare
  is_payments boolean;
  settled_workspaces bigint[];
  settled_transactions bigint[];
  crosses boolean;
  needs_decisions boolean := exists (select from decision_demand d where d.ended_at is null);
begin
  -- Each account is looked up once: those of the service are in every transaction.
  with named as materialized (
    select u.workspace_id, u.account_id,
           (select a.kind from account a where a.workspace_id = u.workspace_id and a.id = u.account_id) as kind
    from (select distinct t.workspace_id, t.account_id from posted_legs(transfers) t) u),
  side as materialized (
    select t.workspace_id, t.transaction_id, x.status, t.type, t.currency_id, t.direction, t.amount, n.kind
    from posted_legs(transfers) t
    left join named n on n.workspace_id = t.workspace_id and n.account_id = t.account_id
    left join unnest(transactions) x on x.workspace_id = t.workspace_id and x.id = t.transaction_id),
  exchanged as (
    select workspace_id, transaction_id, currency_id, direction, amount from side where kind = 'fx'),
  converted as (
    select x.workspace_id, x.id, s.*
    from unnest(transactions) x
    cross join lateral (values ((x.conversion).source_currency_id, 'credit', (x.conversion).source_amount),
      ((x.conversion).target_currency_id, 'debit', (x.conversion).target_amount)) s
    where x.conversion is distinct from null)
  select not exists (
      select from unnest(transactions) x where x.return_of is not null or (x.status in ('pending', 'completed')) is not true)
    and not exists (
      select from side
      where case kind
          when 'customer' then type in ('internal', 'spot', 'payout') and (direction = 'debit' or status = 'completed')
            or type = 'fee' and direction = 'debit'
          when 'settlement' then type in ('payout', 'spot') and direction = 'credit' and status = 'pending'
          when 'fees' then type = 'fee' and direction = 'credit'
          when 'fx' then type = 'spot'
          when 'interworkspace' then type in ('internal', 'spot')
        end is not true)
    and not exists (select * from exchanged except all select * from converted)
    and not exists (select * from converted except all select * from exchanged)
    and not exists (
      select from side where kind = 'interworkspace' and (direction = 'debit' or status = 'completed')
      group by currency_id having sum(case direction when 'debit' then amount else -amount end) <> 0)
    and not exists (
      select from unnest(transactions) x
      where x.status = 'pending' and 1 <> (
        select count(*) from side s
        where s.workspace_id = x.workspace_id and s.transaction_id = x.id and s.kind in ('settlement', 'interworkspace'))),
    (select array_agg(workspace_id) from side where kind = 'settlement'),
    (select array_agg(transaction_id) from side where kind = 'settlement'),
    exists (select from side where kind = 'interworkspace' and status = 'pending')
  into is_payments, settled_workspaces, settled_transactions, crosses;
  if not is_payments then
    raise exception 'not the postings of payments' using errcode = 'BK021';
  end if;
  if exists (select from unnest(transactions) x where x.is_submitted)
     and not exists (select from deployment_mode where is_sandbox) then
    raise exception 'a payout is submitted by the worker' using errcode = 'BK015';
  end if;
  if needs_decisions or exists (select from payout_stop s where s.resumed_at is null) then
    leased_rails := '{}';
  end if;
  perform write_books(transactions, transfers);
  if exists (select from unnest(transactions) x where x.converted_amounts is not null) then
    insert into counted_payment (workspace_id, transaction_id, amounts, created_at)
    select x.workspace_id, x.id, x.converted_amounts, x.created_at from unnest(transactions) x where x.converted_amounts is not null;
  end if;
  return query with leaving as (
    select x.workspace_id, x.id, coalesce(x.is_submitted, false) as is_submitted, x.rail, x.terms_change_id, x.created_at,
           -- No worker takes more at once.
           row_number() over (partition by x.rail order by x.workspace_id, x.id)
             <= least(coalesce(leased_max[array_position(leased_rails, x.rail)], 0), 64) as is_leased
    from unnest(transactions) x
    where x.status = 'pending'
      and exists (select from unnest(settled_workspaces, settled_transactions) s (w, t) where s.w = x.workspace_id and s.t = x.id)),
  opened as (
    insert into payout (workspace_id, transaction_id, status, tries, created_at, updated_at, rail, terms_change_id, needs_decision)
    select l.workspace_id, l.id, case when l.is_submitted then 'submitted' when l.is_leased then 'submitting' else 'due' end,
           case when l.is_leased and not l.is_submitted then 1 else 0 end, l.created_at, l.created_at, l.rail, l.terms_change_id,
           needs_decisions and not l.is_submitted
    from leaving l
    returning workspace_id, transaction_id, status, key_nonce, rail),
  queued as (
    -- The lease is that of a claim.
    insert into work (workspace_id, kind, subject_id, rail, leased_until, fence)
    select workspace_id, 'payout', transaction_id, rail, case status when 'submitting' then clock_timestamp() + interval '30 s' end,
           case status when 'submitting' then 1 else 0 end
    from opened where status in ('due', 'submitting'))
  select o.workspace_id, o.transaction_id, o.key_nonce, o.rail from opened o where o.status = 'submitting';
  if crosses then
    with opened as (
      insert into crossing (workspace_id, transaction_id, account_code, currency_id, amount)
      select x.workspace_id, x.id, r.account_code, given.currency_id, given.amount
      from unnest(transactions) x
      join posted_legs(transfers) given on given.workspace_id = x.workspace_id and given.transaction_id = x.id and given.direction = 'credit'
      join account a on a.workspace_id = given.workspace_id and a.id = given.account_id and a.kind = 'interworkspace'
      left join unnest(transfers) taken on taken.workspace_id = x.workspace_id and taken.transaction_id = x.id
        and taken.direction = 'debit' and taken.recipient_id is not null and taken.type <> 'fee'
      left join recipient r on r.workspace_id = taken.workspace_id and r.id = taken.recipient_id
      where x.status = 'pending'
      returning workspace_id, transaction_id)
    insert into work (workspace_id, kind, subject_id) select workspace_id, 'crossing', transaction_id from opened;
  end if;
end $$;

/**
 * Money that comes back: each transfer of the returned transaction but its fee, reversed, and completed. When it may come back is checked
 * at commit.
 */
create function post_returns(transactions posted_transaction[], transfers posted_transfer[]) returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if exists (
       select from unnest(transactions) x
       where x.return_of is null or x.status is distinct from 'completed' or x.conversion is distinct from null or x.is_submitted)
     or exists (select from posted_legs(transfers) t where t.type is distinct from 'return') or exists (
    select from (
      select x.workspace_id, x.return_of, t.account_id, t.currency_id, t.direction, t.amount, 1 as side
      from unnest(transactions) x join posted_legs(transfers) t on t.workspace_id = x.workspace_id and t.transaction_id = x.id
      union all
      select x.workspace_id, x.return_of, t.account_id, t.currency_id, case t.direction when 'debit' then 'credit' else 'debit' end,
             t.amount, -1
      from unnest(transactions) x
      cross join lateral (select * from leg o where o.workspace_id = x.workspace_id and o.transaction_id = x.return_of offset 0) t
      where t.type <> 'fee') leg
    group by workspace_id, return_of, account_id, currency_id, direction, amount
    having sum(side) <> 0)
  then
    raise exception 'not the postings of returns' using errcode = 'BK021';
  end if;
  perform write_books(transactions, transfers);
end $$;

/** Money that enters, from a settlement account to accounts of customers; for the functions that post it: no role may execute it. */
create function write_deposits(transactions posted_transaction[], transfers posted_transfer[]) returns void
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if exists (
       select from unnest(transactions) x
       where x.return_of is not null or x.status is distinct from 'completed' or x.conversion is distinct from null or x.is_submitted)
     or exists (select from posted_legs(transfers) t where t.type is distinct from 'funding')
     or not has_sides_only(transfers, array['settlement debit', 'customer credit']) then
    raise exception 'not the postings of deposits' using errcode = 'BK021';
  end if;
  perform write_books(transactions, transfers);
end $$;

/** Money that an operator says has arrived. Outside a sandbox, for one account at a time, and a second operator has approved it. */
create function post_deposits(transactions posted_transaction[], transfers posted_transfer[]) returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  perform require_second_operator('fundAccount', jsonb_build_object(
      'accountId', case when cardinality(transfers) = 1 then (transfers[1]).account_id end, 'amount', (transfers[1]).amount::text),
    array(select x.workspace_id from unnest(transactions) x), array(select x.id from unnest(transactions) x));
  perform write_deposits(transactions, transfers);
end $$;

create function post_sandbox_deposits(transactions posted_transaction[], transfers posted_transfer[]) returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if not exists (select from deployment_mode where is_sandbox) then
    raise exception 'money is deposited by an operator' using errcode = 'BK015';
  end if;
  perform post_deposits(transactions, transfers);
end $$;

-- A transaction takes one step, from pending to its final status.
create trigger legal_step before update of status on transaction for each row
  when (old.status <> new.status and (old.status, new.status) not in (('pending', 'completed'), ('pending', 'failed')))
  execute function refuse_step();

-- Every trigger function with the rights of the owner checks its table: otherwise a role could forge entries from a table of its own.
create function trail_account() returns trigger
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

create trigger trail after update of alias, status on account for each row
  when (old.alias is distinct from new.alias or old.status is distinct from new.status)
  execute function trail_account();
