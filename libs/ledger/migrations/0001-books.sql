-- The books: accounts, transactions, their transfers, and the walls that keep them balanced whatever the program does.

-- Instants leave the database as RFC 3339 in UTC with microseconds.
create function rfc3339(instant timestamptz) returns text
  language sql stable parallel safe
  return to_char(instant at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');

create sequence account_id_seq maxvalue 9007199254740991;
create sequence transaction_id_seq maxvalue 9007199254740991;
-- A transfer and the balance it leaves behind share their id; an account's first snapshot takes one of its own.
create sequence transfer_id_seq maxvalue 9007199254740991;

create table account (
  workspace_id bigint not null,
  id bigint not null default nextval('account_id_seq'),
  kind text not null default 'customer' check (kind in ('customer', 'settlement', 'fees', 'fx', 'interworkspace')),
  currency_id integer not null,
  product_id bigint,
  name text not null,
  alias text,
  type text not null,
  code text not null,
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  -- The lowest balance a customer's account may reach, in minor units.
  floor bigint not null default 0,
  -- Balance and version are moved by the trigger on transfer alone. Our own accounts keep zero here: theirs is the sum of their transfers.
  balance bigint not null default 0,
  version bigint not null default 0 check (version >= 0),
  balance_id bigint not null default nextval('transfer_id_seq'),
  balance_at timestamptz not null default now(),
  -- Hash of the latest transaction that touched the account; '' before the first.
  head text not null default '' check (head ~ '^([0-9a-f]{64})?$'),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, id, currency_id),
  unique (workspace_id, code),
  -- A balance travels as a JSON integer, so it stays a safe one.
  check (balance between -9007199254740991 and 9007199254740991),
  check (kind <> 'customer' or balance >= floor),
  check (kind <> 'customer' or product_id is not null)
);
create unique index own_account on account (workspace_id, currency_id, kind) where kind <> 'customer';

create table transaction (
  workspace_id bigint not null,
  id bigint not null default nextval('transaction_id_seq'),
  status text not null check (status in ('pending', 'completed', 'failed')),
  hash text not null check (hash ~ '^[0-9a-f]{64}$'),
  -- The day it counts; created_at is when we wrote it: when the INSERT came, after the lock, so that no account's history runs
  -- backwards as it would by now(), which says when the wait for the lock began.
  value_date date not null,
  -- Money that came back: a transaction is returned once, in full.
  return_of bigint,
  created_at timestamptz not null default statement_timestamp(),
  updated_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, id),
  unique (workspace_id, return_of)
);

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
  -- Both on customers' accounts, neither on our own.
  account_version bigint,
  balance_after bigint,
  created_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, id),
  unique (workspace_id, account_id, account_version),
  check ((account_version is null) = (balance_after is null)),
  -- It is shown as a balance, so it stays a safe integer as one.
  check (balance_after between -9007199254740991 and 9007199254740991)
);
create index transfer_of_transaction on transfer (workspace_id, transaction_id);
create index transfer_by_time on transfer (workspace_id, created_at desc, id desc);

alter table transfer add constraint transfer_account
  foreign key (workspace_id, account_id, currency_id) references account (workspace_id, id, currency_id);
alter table transfer add constraint transfer_transaction
  foreign key (workspace_id, transaction_id) references transaction (workspace_id, id);
alter table transaction add constraint transaction_return_of
  foreign key (workspace_id, return_of) references transaction (workspace_id, id);

-- Moves the customers' balances as transfers are inserted, and refuses transfers that would leave books that do not add up:
-- (a) the transfers of a transaction sum to zero per currency; (b) on a customer's account they continue its version and its
-- balance step by step, never under its floor, and never while it is disabled unless money comes back; (c) a transfer without a
-- version lies on an account of our own. All transfers of a transaction therefore arrive in one INSERT.
create function move_balances() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  step record;
begin
  if exists (
    select from fresh
    group by workspace_id, transaction_id, currency_id
    having sum(case direction when 'credit' then amount else -amount end) <> 0
  ) then
    raise exception 'unbalanced transaction' using errcode = 'BK001';
  end if;

  for step in
    select workspace_id, account_id,
           min(account_version) as first_version, max(account_version) as last_version, count(*) as legs,
           min(balance_after - moved) as balance_before, max(balance_after - moved) as balance_before_max,
           min(balance_after) as lowest,
           (array_agg(balance_after order by account_version desc))[1] as balance_last,
           (array_agg(id order by account_version desc))[1] as last_id,
           bool_and(type = 'return') as only_returns
    from (
      select *, sum(case direction when 'credit' then amount else -amount end)
                over (partition by workspace_id, account_id order by account_version rows unbounded preceding) as moved
      from fresh where account_version is not null
    ) running
    group by workspace_id, account_id
    order by workspace_id, account_id
  loop
    update account a
    set balance = step.balance_last, version = step.last_version, balance_id = step.last_id, balance_at = statement_timestamp()
    where a.workspace_id = step.workspace_id and a.id = step.account_id
      and a.kind = 'customer'
      and a.version = step.first_version - 1
      and step.legs = step.last_version - step.first_version + 1
      and a.balance = step.balance_before and step.balance_before = step.balance_before_max
      and step.lowest >= a.floor
      and (a.status = 'enabled' or step.only_returns);
    if not found then
      raise exception 'transfer does not continue its account' using errcode = 'BK002';
    end if;
  end loop;

  if exists (
    select from fresh f
    where f.account_version is null
      and not exists (
        select from account a
        where a.workspace_id = f.workspace_id and a.id = f.account_id and a.kind <> 'customer')
  ) then
    raise exception 'transfer does not continue its account' using errcode = 'BK002';
  end if;
  return null;
end $$;

create trigger move_balances after insert on transfer
  referencing new table as fresh for each statement execute function move_balances();

-- Records of the books are never edited or removed: a correction is a new transaction.
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'BK003';
end $$;
create trigger append_only before update or delete on transfer for each row execute function refuse_change();
create trigger append_only_truncate before truncate on transfer for each statement execute function refuse_change();
create trigger append_only before delete on transaction for each row execute function refuse_change();
create trigger append_only_truncate before truncate on transaction for each statement execute function refuse_change();
create trigger append_only before delete on account for each row execute function refuse_change();
create trigger append_only_truncate before truncate on account for each statement execute function refuse_change();

-- A transaction takes one legal step, from pending to its last word; nothing else of it changes.
create function step_transaction() returns trigger language plpgsql as $$
begin
  if (old.workspace_id, old.id, old.hash, old.value_date, old.return_of, old.created_at)
     is distinct from (new.workspace_id, new.id, new.hash, new.value_date, new.return_of, new.created_at) then
    raise exception 'transaction is append-only but for its status' using errcode = 'BK003';
  end if;
  if old.status is distinct from new.status and (old.status <> 'pending' or new.status not in ('completed', 'failed')) then
    raise exception 'transaction cannot go from % to %', old.status, new.status using errcode = 'BK004';
  end if;
  return new;
end $$;
create trigger legal_step before update on transaction for each row execute function step_transaction();

-- The setting lists the workspaces a database transaction acts for; unset or empty means none, so no rows.
-- The list is written out in every policy because a function there would hide it from the planner.
alter table account enable row level security;
alter table account force row level security;
create policy workspaces on account
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));
alter table transaction enable row level security;
alter table transaction force row level security;
create policy workspaces on transaction
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));
alter table transfer enable row level security;
alter table transfer force row level security;
create policy workspaces on transfer
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));

grant usage on sequence account_id_seq, transaction_id_seq, transfer_id_seq to banking_app;
-- An account starts at zero: the columns that hold money are not the app's to write, neither at first nor later.
-- When something was booked is the database's word too.
grant select on account to banking_app;
grant insert (workspace_id, id, kind, currency_id, product_id, name, alias, type, code, status)
  on account to banking_app;
grant update (alias, status, head, updated_at) on account to banking_app;
grant select on transaction to banking_app;
grant insert (workspace_id, id, status, hash, value_date, return_of) on transaction to banking_app;
grant update (status, updated_at) on transaction to banking_app;
grant select on transfer to banking_app;
grant insert (workspace_id, id, transaction_id, account_id, currency_id, direction, amount, type, description, purpose, fee_amount,
              recipient_id, account_version, balance_after) on transfer to banking_app;
