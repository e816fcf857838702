-- Files of ISO 20022 that leave for a bank and come from it. They belong to no workspace: a bank account is one of the deployment, and
-- the payments and entries of a file are those of any workspace.

create sequence payment_file_id_seq maxvalue 9007199254740991;
-- A file of payments. The row is written before the file, together with what is in it.
create table payment_file (
  id bigint primary key default nextval('payment_file_id_seq'),
  rail text not null check (rail ~ '^[a-z][a-z0-9-]{0,30}$'),
  -- Of the message, and the name of the file. It has random bits: after a restore to an earlier moment the sequence gives ids again, and a
  -- bank refuses an id that it has had.
  message_id text not null unique check (message_id ~ '^[A-Za-z0-9-]{1,30}$'),
  created_at timestamptz not null default clock_timestamp(),
  -- Which worker writes it, until when. Only to spare work: who has prepared it first decides.
  leased_until timestamptz not null default clock_timestamp() + interval '30 s',
  -- When its bytes were complete in our own folder, and under which name: `<message_id>.<prepared_as>.xml`. No other file is handed over,
  -- and a file that is gone from there afterwards was handed over, unless it was withdrawn there, so that another one counts.
  prepared_at timestamptz,
  prepared_as text check (prepared_as ~ '^[0-9a-f]{8}$'),
  -- When it was known to be handed over to the bank's client.
  written_at timestamptz,
  check ((prepared_at is null) = (prepared_as is null)),
  check (written_at is null or prepared_at is not null)
);
create index payment_file_unwritten on payment_file (rail, id) where written_at is null;
create index payment_file_by_time on payment_file (rail, created_at);
create trigger prepared_for_good before update of prepared_as on payment_file for each row
  when (old.prepared_as is not null and new.prepared_as is distinct from old.prepared_as
    and (new.prepared_as is null or old.written_at is not null))
  execute function refuse_step();

create sequence file_payment_id_seq maxvalue 9007199254740991;
-- A payment that is to leave in a file, and the file that it leaves in.
create table file_payment (
  rail text not null check (rail ~ '^[a-z][a-z0-9-]{0,30}$'),
  -- That of the payout.
  key text not null check (char_length(key) between 1 and 64),
  id bigint not null default nextval('file_payment_id_seq'),
  -- `EndToEndId` and `InstrId`: the key where it has at most 35 characters.
  end_to_end_id text not null check (end_to_end_id ~ '^[A-Za-z0-9-]{1,35}$'),
  -- In minor units, with what the file says of debtor and creditor beside it.
  amount bigint not null check (amount > 0),
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  content jsonb not null check (jsonb_typeof(content) = 'object'),
  file_id bigint references payment_file,
  -- `PmtInfId` of the part of the file that it is in.
  payment_information_id text check (payment_information_id ~ '^[A-Za-z0-9-]{1,35}$'),
  accepted_at timestamptz not null default clock_timestamp(),
  -- Whether the books have its payout with this amount. A restored database may lack that of a payment which it read from the copy of a file:
  -- the books have no entry of it.
  is_in_books boolean not null default true,
  primary key (rail, key),
  -- The reference first: a bank account may have come to another rail than that of its payments.
  unique (end_to_end_id, rail),
  check (payment_information_id is null or file_id is not null)
);
create index file_payment_waiting on file_payment (rail, id) where file_id is null;
create index file_payment_of_file on file_payment (file_id, id) where file_id is not null;
create trigger filed_for_good before update of file_id, payment_information_id on file_payment for each row
  when (old.file_id is not null
    and (new.file_id, new.payment_information_id) is distinct from (old.file_id, old.payment_information_id))
  execute function refuse_step();

-- Only the end of a file says what is in it. So its rows may change in the database transaction that has written them, which has no
-- savepoints, and never after.
create function refuse_later_change() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if old.xmin <> pg_current_xact_id()::xid then
    raise exception 'a row of % does not change after the transaction that wrote it', tg_table_name using errcode = 'BK003';
  end if;
  return new;
end $$;

create sequence bank_file_id_seq maxvalue 9007199254740991;
-- Each file of a bank that was read or refused. The same content again does nothing.
create table bank_file (
  id bigint primary key default nextval('bank_file_id_seq'),
  rail text not null check (rail ~ '^[a-z][a-z0-9-]{0,30}$'),
  name text not null check (char_length(name) between 1 and 255),
  -- SHA-256 of its bytes.
  digest bytea not null check (length(digest) = 32),
  -- Such as `camt.053.001.08`; null if it could not be told.
  message text check (char_length(message) between 1 and 40),
  message_id text check (char_length(message_id) between 1 and 100),
  outcome text not null check (outcome in ('read', 'refused')),
  -- Why it was refused, in words for operators.
  reason text check (char_length(reason) between 1 and 500),
  -- What an operator should know of one that was read, such as payments that a bank refused as duplicates.
  note text check (char_length(note) between 1 and 500),
  received_at timestamptz not null default clock_timestamp(),
  check ((outcome = 'refused') = (reason is not null)),
  check (note is null or outcome = 'read')
);
create unique index bank_file_read_once on bank_file (rail, digest) where outcome = 'read';
create index bank_file_by_time on bank_file (rail, received_at desc, id desc);
create trigger read_at_once before update on bank_file for each row execute function refuse_later_change();

create sequence bank_statement_id_seq maxvalue 9007199254740991;
-- A statement of a bank account (`camt.053`): what its reconciliation begins and ends with.
create table bank_statement (
  id bigint primary key default nextval('bank_statement_id_seq'),
  file_id bigint not null references bank_file,
  -- The number of the account in `RAILS_FILE`. Number and currency name it, and no rail: its bank has the same statements under another one.
  bank_account text not null check (char_length(bank_account) between 1 and 40),
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  -- As the bank names and numbers it. A bank uses both again.
  statement_id text not null check (char_length(statement_id) between 1 and 100),
  sequence numeric,
  -- Of the booked balances, in minor units; below zero for an overdraft.
  opening_balance bigint not null,
  closing_balance bigint not null,
  opened_on date not null,
  closed_on date not null,
  -- What its entries sum to, credits less debits.
  entry_count integer not null check (entry_count >= 0),
  entry_sum bigint not null,
  received_at timestamptz not null default clock_timestamp()
);
create index bank_statement_of_account on bank_statement (bank_account, currency, closed_on desc, id desc);
create trigger read_at_once before update on bank_statement for each row execute function refuse_later_change();

create sequence bank_entry_id_seq maxvalue 9007199254740991;
-- An entry of a bank account, or a detail of one that stands for several payments. Read in several files, it is one row.
create table bank_entry (
  id bigint primary key default nextval('bank_entry_id_seq'),
  -- The rail of the file that it was first read in. It is the same entry in a file of another rail.
  rail text not null check (rail ~ '^[a-z][a-z0-9-]{0,30}$'),
  bank_account text not null check (char_length(bank_account) between 1 and 40),
  -- What makes it the same entry in another file.
  identity text not null check (char_length(identity) between 1 and 200),
  direction text not null check (direction in ('credit', 'debit')),
  -- In minor units.
  amount bigint not null check (amount > 0),
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  -- `pending` becomes `booked`. An entry that takes an earlier one back is one of its own.
  status text not null check (status in ('pending', 'booked')),
  is_reversal boolean not null default false,
  booked_on date,
  value_on date,
  -- The file that it was first read in, and the first statement that lists it as booked. An entry of the demo data has no file.
  file_id bigint references bank_file,
  statement_id bigint references bank_statement,
  -- The reference of our own payment, where the bank repeats it.
  end_to_end_id text check (char_length(end_to_end_id) between 1 and 100),
  uetr text check (char_length(uetr) between 1 and 40),
  bank_reference text check (char_length(bank_reference) between 1 and 100),
  -- On a detail with a reference of its own: that of the entry that it is, or is a part of. On an entry that stands for several payments whose details its file does
  -- not give: its own, and how many they are. Details may come in another file. The whole is `ignored` once they sum to it, and the
  -- details are, if the whole is in the books.
  batch_reference text check (char_length(batch_reference) between 1 and 100),
  batch_count integer check (batch_count > 1),
  -- A structured creditor reference (ISO 11649 or of a country), and the unstructured text.
  creditor_reference text check (char_length(creditor_reference) between 1 and 100),
  remittance text check (char_length(remittance) between 1 and 2000),
  -- The other side: {"name", "account", "bank"}, each optional.
  party jsonb not null default '{}' check (jsonb_typeof(party) = 'object'),
  -- Present on money that comes back (`RtrInf`).
  return_reason text check (char_length(return_reason) between 1 and 35),
  received_at timestamptz not null default clock_timestamp(),
  -- What the books have of it: a payout that left or came back, or a deposit. Null until it is known.
  outcome text check (outcome in ('payout', 'return', 'deposit', 'ignored')),
  -- The key of that payout. A deposit refers to its entry.
  payout_key text check (char_length(payout_key) between 1 and 64),
  -- Why an operator ignores it, such as a fee of the bank, and who that is.
  note text check (char_length(note) between 1 and 500),
  ignored_by text check (char_length(ignored_by) between 1 and 200),
  unique (identity, bank_account, currency),
  check ((note is null) = (ignored_by is null) and (note is null or outcome = 'ignored')),
  check ((payout_key is not null) = coalesce(outcome in ('payout', 'return'), false))
);
create index bank_entry_pending on bank_entry (bank_account, currency, id) where status = 'pending';
-- What waits for a decision. The whole of several payments waits for its details, or for an operator.
create index bank_entry_open on bank_entry (direction, id) where outcome is null and status = 'booked' and batch_count is null;
-- The reference first, as in the unique key above: a lookup by it alone uses no other index. See store-entries.ts.
create index bank_entry_by_reference on bank_entry (bank_reference, bank_account, currency) where bank_reference is not null;
create index bank_entry_by_uetr on bank_entry (uetr, bank_account, currency) where uetr is not null;
create index bank_entry_by_batch on bank_entry (batch_reference, bank_account, currency) where batch_reference is not null;
-- A payment leaves once and comes back once. Another entry with its reference waits for a decision.
create unique index bank_entry_of_payout on bank_entry (payout_key, outcome) where payout_key is not null;
create index bank_entry_of_statement on bank_entry (statement_id, id) where statement_id is not null;
create index bank_entry_by_time on bank_entry (bank_account, currency, booked_on desc, id desc);
create trigger booked_for_good before update of status on bank_entry for each row
  when (old.status = 'booked' and new.status <> 'booked') execute function refuse_step();
create trigger known_for_good before update of outcome on bank_entry for each row
  when (old.outcome is not null and (new.outcome, new.payout_key, new.note) is distinct from (old.outcome, old.payout_key, old.note))
  execute function refuse_step();
create index bank_entry_announced on bank_entry (id) where outcome is null and status = 'pending' and direction = 'credit';

-- The credits that a reversal may be of, and those that may be one.
create index bank_entry_reversible on bank_entry (amount, (coalesce(booked_on, value_on)), bank_account, currency, id) where direction = 'credit';
create index bank_entry_unreferenced on bank_entry (amount, (coalesce(booked_on, value_on)), bank_account, currency, id)
  where direction = 'credit' and bank_reference is null;

-- How the statements of each bank account compare with the books: what a worker found last. It has no names and no texts of payers.
create table bank_reconciliation (
  -- That in `RAILS_FILE` which has the bank account.
  rail text not null check (rail ~ '^[a-z][a-z0-9-]{0,30}$'),
  bank_account text not null check (char_length(bank_account) between 1 and 40),
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  -- The account whose workspace is that of the operator of the bank account: its administrators read this.
  suspense_account text,
  compared_at timestamptz not null default statement_timestamp(),
  difference_count integer not null check (difference_count >= 0),
  -- Files in the folder `refused` of the rail, the same for each of its bank accounts.
  refused_count integer not null default 0 check (refused_count >= 0),
  -- The balances and the first differences, as callers get them.
  result jsonb not null check (jsonb_typeof(result) = 'object'),
  primary key (bank_account, currency)
);

create sequence deposit_id_seq maxvalue 9007199254740991;
-- Money that arrived on a bank account, for an account of a customer. The money of an entry is in one deposit: others of it are `assigned`, or
-- were returned before the bank booked it.
create table deposit (
  workspace_id bigint not null,
  id bigint not null default nextval('deposit_id_seq'),
  account_id bigint not null,
  currency_id integer not null,
  -- In minor units.
  amount bigint not null check (amount > 0),
  -- `pending`: the bank announced it, and nothing is posted. `unmatched`: posted to a suspense account, because it named no account that takes
  -- it. `assigned`: another deposit has its money. `returned`: the bank took it back, or an operator sends it back.
  status text not null check (status in ('pending', 'booked', 'unmatched', 'assigned', 'returned')),
  -- What the payer wrote, and who paid: {"name", "account", "bank"}, each optional. The entry is not read: it belongs to no workspace.
  reference text check (char_length(reference) between 1 and 512),
  payer jsonb not null check (jsonb_typeof(payer) = 'object'),
  value_on date,
  -- The row of `bank_entry`, and the entry by which the bank took the money back. No foreign keys: a workspace moves without them.
  entry_id bigint not null,
  reversal_id bigint,
  -- The deposit that had its money before, in any workspace, if operators assigned it. The worker has made all others.
  assigned_from bigint,
  transaction_id bigint,
  note text check (char_length(note) between 1 and 1000),
  -- When the texts of its payer became pseudonyms.
  erased_at timestamptz,
  created_at timestamptz not null default statement_timestamp(),
  updated_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, id),
  foreign key (workspace_id, account_id, currency_id) references account (workspace_id, id, currency_id),
  foreign key (workspace_id, transaction_id) references transaction (workspace_id, id),
  check (case status when 'pending' then transaction_id is null when 'booked' then transaction_id is not null
    when 'unmatched' then transaction_id is not null else true end),
  check (reversal_id is null or status = 'returned')
);
create unique index deposit_of_entry on deposit (entry_id)
  where status = 'pending' or status <> 'assigned' and transaction_id is not null;
create index deposit_by_entry on deposit (entry_id);
create unique index deposit_of_reversal on deposit (reversal_id) where reversal_id is not null;
create unique index deposit_of_transaction on deposit (workspace_id, transaction_id) where transaction_id is not null;
create index account_deposit_by_class on deposit (workspace_id, account_id, status, created_at desc, id desc)
  where account_id is not null;
create index deposit_by_class on deposit (workspace_id, status, created_at desc, id desc) where id >= 1;
create trigger legal_step before update of status on deposit for each row
  when (old.status <> new.status and (old.status, new.status) not in (('pending', 'booked'), ('pending', 'unmatched'), ('pending', 'assigned'),
    ('pending', 'returned'), ('booked', 'assigned'), ('booked', 'returned'), ('unmatched', 'assigned'), ('unmatched', 'returned')))
  execute function refuse_step();
create trigger posted_for_good before update of transaction_id on deposit for each row
  when (old.transaction_id is not null and new.transaction_id is distinct from old.transaction_id) execute function refuse_step();

-- At commit, because a deposit is written after its posting. Its transaction credits its account with its amount and does nothing else for
-- customers, and is returned exactly if the deposit ended.
create function require_transaction_of_deposit() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if not exists (
    select from deposit d
    join transaction x on x.workspace_id = d.workspace_id and x.id = d.transaction_id and x.status = 'completed' and x.return_of is null
    where d.workspace_id = new.workspace_id and d.id = new.id
      and (select array_agg((t.account_id, t.currency_id, t.direction, t.amount, t.type)::text) from transfer t
           where t.workspace_id = d.workspace_id and t.transaction_id = d.transaction_id)
        = array[(d.account_id, d.currency_id, 'credit'::text, d.amount, 'funding'::text)::text]
      and exists (select from transaction r where r.workspace_id = d.workspace_id and r.return_of = d.transaction_id)
        = (d.status in ('assigned', 'returned'))) then
    raise exception 'a deposit needs the transaction of its money' using errcode = 'BK025';
  end if;
  return null;
end $$;
create constraint trigger has_transaction after insert or update of account_id, currency_id, amount, status, transaction_id on deposit
  deferrable initially deferred for each row when (new.transaction_id is not null) execute function require_transaction_of_deposit();

create function note_deposit() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.deposit'::regclass or tg_op not in ('INSERT', 'UPDATE') then
    raise exception 'note_deposit runs after a change of deposit only' using errcode = 'BK013';
  end if;
  insert into change_outbox (changes)
  values (jsonb_build_array(jsonb_build_array(new.workspace_id, 'deposit.' || case new.status when 'pending' then 'received' else new.status end,
    new.id, jsonb_strip_nulls(jsonb_build_object('accountId', new.account_id, 'transactionId', new.transaction_id))
      || jsonb_build_object('status', jsonb_build_object('before', case tg_op when 'UPDATE' then old.status end, 'after', new.status)))));
  return null;
end $$;
create trigger note_insertion after insert on deposit for each row execute function note_deposit();
create trigger note_update after update of status on deposit for each row
  when (old.status <> new.status) execute function note_deposit();

-- What the payer wrote, as it can be stored with a transfer. The text of a bank may have any character.
create function reference_of_entry(creditor_reference text, remittance text) returns text
  language sql immutable parallel safe
  return nullif(trim(left(regexp_replace(coalesce(creditor_reference, remittance), '[\u0001-\u001f\u007f-\u009f]+', ' ', 'g'), 512)), '');

-- The deposits of entries, in any workspace: which one has it is not known before.
create function deposits_of_entries(entry_ids bigint[])
  returns table (entry_id bigint, workspace_id bigint, id bigint, account_id bigint, status text, transaction_id bigint)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select d.entry_id, d.workspace_id, d.id, d.account_id, d.status, d.transaction_id
  from deposit d
  where d.entry_id = any(entry_ids) and (d.status = 'pending' or d.status <> 'assigned' and d.transaction_id is not null)
$$;

-- Whether two credits of one amount and day may be one that two files name differently: a name that both have is the same, and no statement
-- lists both.
create function may_be_one_credit(one bank_entry, other bank_entry) returns boolean
  language sql immutable
  return (one.bank_account, one.currency) is not distinct from (other.bank_account, other.currency)
    and one.id <> other.id and one.file_id <> other.file_id and not coalesce(one.statement_id = other.statement_id, false)
    and not coalesce(one.bank_reference <> other.bank_reference, false) and not coalesce(one.uetr <> other.uetr, false)
    and not coalesce(one.end_to_end_id <> other.end_to_end_id, false);

-- Whether a credit is in the books, or will be without an operator, before another one that may be the same: the first of both.
create function precedes_credit(one bank_entry, other bank_entry) returns boolean
  language sql immutable
  return one.direction = 'credit' and one.status = 'booked' and not one.is_reversal and one.return_reason is null and (
    one.outcome = 'deposit'
    or one.outcome is null and one.id < other.id and one.batch_count is null and num_nonnulls(one.statement_id, one.bank_reference, one.uetr) > 0);

-- Whether the money of a credit was given back, so that another entry may state it.
create function is_returned_credit(e bank_entry) returns boolean
  language sql stable set search_path = banking, pg_temp
  return e.outcome = 'deposit' and exists (select from deposits_of_entries(array[e.id]) d where d.status = 'returned')
    and not exists (select from deposits_of_entries(array[e.id]) d where d.status <> 'returned');

/**
 * Whether a credit is money that no other entry states as well. One that is booked in a notification needs the reference of the bank or the
 * UETR: the statement may have it by a better name, and so is awaited. The demo data has no file. The whole of which a credit is a detail,
 * details of the whole that it is, one with its UETR, and one of the same amount and day that may be the same by another name are the same
 * money: an operator has to ignore one.
 */
create function is_certain_credit(e bank_entry) returns boolean
  language sql stable parallel safe set search_path = banking, pg_temp
  return (e.status = 'pending' or e.file_id is null or num_nonnulls(e.statement_id, e.bank_reference, e.uetr) > 0)
    -- Each lookup by one reference, as in store-entries.ts.
    and not exists (
      select from (
        select o.* from bank_entry o where o.batch_reference = e.bank_reference and o.batch_count is null and e.batch_reference is null
        union all
        select o.* from bank_entry o where o.bank_reference = e.batch_reference and o.batch_reference is null
        union all
        select o.* from bank_entry o where o.batch_reference = e.batch_reference and o.batch_count is not null
        union all
        select o.* from bank_entry o where o.uetr = e.uetr and o.id <> e.id and o.return_reason is null) o
      where (o.bank_account, o.currency) is not distinct from (e.bank_account, e.currency) and o.direction = e.direction
        and o.status = 'booked' and not o.is_reversal and o.outcome is distinct from 'ignored'
        and abs(coalesce(o.booked_on, o.value_on) - coalesce(e.booked_on, e.value_on)) <= 30
        and not coalesce(o.statement_id is not null and e.statement_id is not null and o.booked_on <> e.booked_on, false)
        and not is_returned_credit(o))
    -- Mostly both have the reference of the bank, so that only those without it are looked at.
    and not exists (
      select from bank_entry o
      where o.amount = e.amount and coalesce(o.booked_on, o.value_on) = coalesce(e.booked_on, e.value_on) and o.direction = 'credit'
        and o.bank_reference is null and precedes_credit(o, e) and may_be_one_credit(o, e) and not is_returned_credit(o))
    and (e.bank_reference is not null or not exists (
      select from bank_entry o
      where o.amount = e.amount and coalesce(o.booked_on, o.value_on) = coalesce(e.booked_on, e.value_on) and o.direction = 'credit'
        and o.bank_reference is not null and precedes_credit(o, e) and may_be_one_credit(o, e) and not is_returned_credit(o)));

-- The entries among these that are credits of which the books have nothing yet, in a status; locked in the order of their ids, without those
-- that another session has locked. Left out are reversals, and money of our own payments that comes back.
create function hold_credit_entries(ids bigint[], of_status text) returns setof bank_entry
  language sql set search_path = banking, pg_temp as $$
  select e.* from bank_entry e
  where e.id = any(ids) and e.direction = 'credit' and e.status = of_status and e.outcome is null and e.batch_count is null
    and not e.is_reversal and e.return_reason is null
    and not exists (select from file_payment p where p.end_to_end_id = e.end_to_end_id)
    and is_certain_credit(e)
  order by e.id
  for update of e skip locked
$$;

-- The entries of the deposits of a workspace of the scope, in a range of ids: no role that serves reads those of other workspaces.
create function entries_of_deposits(of_workspace bigint, after_id bigint, last_id bigint)
  returns table (deposit_id bigint, amount bigint, direction text, outcome text)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select d.id, e.amount, e.direction, e.outcome
  from deposit d join bank_entry e on e.id = d.entry_id
  where d.workspace_id = of_workspace and d.id > after_id and d.id <= last_id
    and of_workspace = any(nullif(current_setting('app.workspaces', true), '')::bigint[])
$$;

-- Deposits of entries that the bank has announced. Returns how many were new.
create function announce_deposits(entry_ids bigint[], workspace_ids bigint[], account_ids bigint[]) returns integer
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  announced integer;
begin
  insert into deposit (workspace_id, account_id, currency_id, amount, status, reference, payer, value_on, entry_id)
  select a.workspace_id, a.id, a.currency_id, e.amount, 'pending', reference_of_entry(e.creditor_reference, e.remittance), e.party, e.value_on,
         e.id
  from hold_credit_entries(entry_ids, 'pending') e
  join unnest(entry_ids, workspace_ids, account_ids) u (entry_id, workspace_id, account_id) on u.entry_id = e.id
  join account a on a.workspace_id = u.workspace_id and a.id = u.account_id and a.kind = 'customer'
  join currency c on c.id = a.currency_id and c.code = e.currency
  -- An operator may have returned it already.
  where not exists (select from deposit d where d.entry_id = e.id)
  order by e.id
  on conflict do nothing;
  get diagnostics announced = row_count;
  return announced;
end $$;

/**
 * Money that entered by booked entries of bank accounts: each transaction is bound to one entry, in the order of the arrays. It credits one
 * account of a customer with the amount of the entry, of which the books had nothing. So a worker posts no money that no bank has stated.
 * A pending deposit of the entry goes on, or ends if the money goes to another account.
 *
 * @param statuses `booked`, or `unmatched` on a suspense account
 */
create function post_bank_deposits(transactions posted_transaction[], transfers posted_transfer[], entry_ids bigint[],
    statuses text[]) returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if (cardinality(transactions) = cardinality(entry_ids) and cardinality(entry_ids) = cardinality(statuses)) is not true
     or (select count(distinct i) from unnest(entry_ids) i) < cardinality(entry_ids)
     or exists (select from unnest(statuses) s where (s in ('booked', 'unmatched')) is not true)
     or exists (
       select from unnest(transactions) with ordinality x
       join unnest(entry_ids) with ordinality u (entry_id, place) on u.place = x.ordinality
       left join hold_credit_entries(entry_ids, 'booked') e on e.id = u.entry_id
       where (select array_agg((t.direction, t.amount, c.code)::text)
              from unnest(transfers) t left join currency c on c.id = t.currency_id
              where t.workspace_id = x.workspace_id and t.transaction_id = x.id)
         is distinct from array[('credit'::text, e.amount, e.currency)::text]) then
    raise exception 'a deposit needs its booked entry of a bank account' using errcode = 'BK021';
  end if;
  perform write_deposits(transactions, transfers);
  with bound as materialized (
    select t.workspace_id, t.account_id, x.created_at, e.id as entry_id
    from unnest(transactions) with ordinality x
    join unnest(entry_ids) with ordinality u (entry_id, place) on u.place = x.ordinality
    join unnest(transfers) t on t.workspace_id = x.workspace_id and t.transaction_id = x.id
    join bank_entry e on e.id = u.entry_id)
  update deposit d set status = 'assigned', updated_at = b.created_at
  from bound b
  where d.entry_id = b.entry_id and d.status = 'pending' and (d.workspace_id, d.account_id) <> (b.workspace_id, b.account_id);
  with bound as materialized (
    select t.workspace_id, t.account_id, t.currency_id, t.amount, t.transaction_id, x.created_at, s.status, e.id as entry_id, e.value_on, e.party,
           reference_of_entry(e.creditor_reference, e.remittance) as reference
    from unnest(transactions) with ordinality x
    join unnest(entry_ids, statuses) with ordinality s (entry_id, status, place) on s.place = x.ordinality
    join unnest(transfers) t on t.workspace_id = x.workspace_id and t.transaction_id = x.id
    join bank_entry e on e.id = s.entry_id),
  continued as (
    update deposit d
    set status = b.status, transaction_id = b.transaction_id, reference = b.reference, payer = b.party, value_on = b.value_on, updated_at = b.created_at
    from bound b
    where d.workspace_id = b.workspace_id and d.account_id = b.account_id and d.entry_id = b.entry_id and d.status = 'pending'
    returning d.entry_id)
  insert into deposit (workspace_id, account_id, currency_id, amount, status, reference, payer, value_on, entry_id, transaction_id, created_at,
    updated_at)
  select b.workspace_id, b.account_id, b.currency_id, b.amount, b.status, b.reference, b.party, b.value_on, b.entry_id, b.transaction_id, b.created_at,
    b.created_at
  from bound b where b.entry_id not in (select c.entry_id from continued c)
  order by b.entry_id;
  update bank_entry set outcome = 'deposit' where id = any(entry_ids);
end $$;

-- Whether an entry may take another one back: the bank repeats one of its references. Payers choose the last of them, so it counts only if the
-- reversal names nothing better.
create function reverses_entry(reversal bank_entry, entry bank_entry) returns boolean
  language sql immutable
  return reversal.direction = 'debit' and reversal.is_reversal and reversal.status = 'booked' and entry.direction = 'credit'
    and (reversal.bank_account, reversal.amount, reversal.currency) = (entry.bank_account, entry.amount, entry.currency)
    and case
      when reversal.uetr is not null and entry.uetr is not null then reversal.uetr = entry.uetr
      when array[reversal.bank_reference, reversal.batch_reference] && array_remove(array[entry.bank_reference, entry.batch_reference], null)
        then true
      else num_nonnulls(reversal.uetr, reversal.bank_reference, reversal.batch_reference) = 0
        and coalesce(reversal.end_to_end_id = entry.end_to_end_id and entry.end_to_end_id <> 'NOTPROVIDED', false) end;

/** Money that a bank has taken back by a reversal: a return for each deposit, bound to it and to its entry, in the order of the arrays. */
create function reverse_bank_deposits(transactions posted_transaction[], transfers posted_transfer[], deposit_ids bigint[],
    reversal_ids bigint[]) returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  perform from bank_entry e where e.id = any(reversal_ids) order by e.id for update;
  if (cardinality(transactions) = cardinality(deposit_ids) and cardinality(deposit_ids) = cardinality(reversal_ids)) is not true
     or (select count(distinct i) from unnest(reversal_ids) i) < cardinality(reversal_ids)
     or exists (
       select from unnest(transactions) with ordinality x
       join unnest(deposit_ids, reversal_ids) with ordinality u (deposit_id, reversal_id, place) on u.place = x.ordinality
       where not exists (
         select from deposit d join bank_entry e on e.id = d.entry_id join bank_entry r on r.id = u.reversal_id
         where d.workspace_id = x.workspace_id and d.id = u.deposit_id and d.transaction_id = x.return_of
           and d.status in ('booked', 'unmatched') and r.outcome is null and reverses_entry(r, e))) then
    raise exception 'the return of a deposit needs its reversal' using errcode = 'BK021';
  end if;
  perform post_returns(transactions, transfers);
  update deposit d set status = 'returned', reversal_id = u.reversal_id, updated_at = x.created_at
  from unnest(transactions) with ordinality x
  join unnest(deposit_ids, reversal_ids) with ordinality u (deposit_id, reversal_id, place) on u.place = x.ordinality
  where d.workspace_id = x.workspace_id and d.id = u.deposit_id;
  update bank_entry set outcome = 'deposit' where id = any(reversal_ids);
end $$;

/** A deposit that an operator sends back at the bank. Nothing was posted for a pending one. */
create function return_deposit(transactions posted_transaction[], transfers posted_transfer[], of_workspace bigint,
    deposit_id bigint, reason text) returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  ended deposit;
begin
  select d.* into ended from deposit d where d.workspace_id = of_workspace and d.id = deposit_id for update;
  if ended.id is null or ended.status not in ('pending', 'booked', 'unmatched')
     or (select array_agg((x.workspace_id, x.return_of)::text) from unnest(transactions) x)
       is distinct from (case when ended.transaction_id is not null then array[(of_workspace, ended.transaction_id)::text] end) then
    raise exception 'the return of a deposit is that of its transaction' using errcode = 'BK021';
  end if;
  perform require_second_operator('returnDeposit',
    jsonb_build_object('workspaceId', of_workspace, 'depositId', deposit_id, 'note', reason),
    array(select x.workspace_id from unnest(transactions) x), array(select x.id from unnest(transactions) x));
  if ended.transaction_id is not null then
    perform post_returns(transactions, transfers);
  end if;
  update deposit d set status = 'returned', note = reason, updated_at = statement_timestamp()
  where d.workspace_id = of_workspace and d.id = deposit_id;
end $$;

/**
 * Gives a deposit that is unmatched, or was assigned to the wrong account, to the account that it was meant for: its money is taken from its
 * account by a return, and enters as another deposit of the same entry, in the workspace of that account. Through the settlement accounts, as
 * money of the bank account is. One that names its account stays there: the payer has chosen it.
 *
 * @param transactions the return, then the new posting
 * @returns the id of the new deposit
 */
create function assign_deposit(transactions posted_transaction[], transfers posted_transfer[], of_workspace bigint,
    deposit_id bigint, reason text) returns bigint
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  ended deposit;
  given posted_transfer[];
  assigned_id bigint;
begin
  select d.* into ended from deposit d where d.workspace_id = of_workspace and d.id = deposit_id for update;
  given := array(select t from unnest(transfers) t where t.transaction_id = (transactions[2]).id);
  if (ended.status = 'unmatched' or ended.status = 'booked' and ended.assigned_from is not null) is not true
     or cardinality(transactions) <> 2 or (transactions[1]).return_of is distinct from ended.transaction_id
     or (transactions[1]).workspace_id is distinct from of_workspace
     or (select array_agg((t.direction, t.currency_id, t.amount)::text) from unnest(given) t)
       is distinct from array[('credit'::text, ended.currency_id, ended.amount)::text] then
    raise exception 'an assignment moves a deposit that is unmatched or was assigned' using errcode = 'BK021';
  end if;
  perform require_second_operator('assignDeposit', jsonb_build_object('workspaceId', of_workspace, 'depositId', deposit_id,
      'accountId', (given[1]).account_id, 'note', reason),
    array(select x.workspace_id from unnest(transactions) x), array(select x.id from unnest(transactions) x));
  perform post_returns(transactions[1:1], array(select t from unnest(transfers) t where t.transaction_id <> (transactions[2]).id));
  perform write_deposits(transactions[2:2], given);
  update deposit d set status = 'assigned', note = reason, updated_at = (transactions[2]).created_at
  where d.workspace_id = of_workspace and d.id = deposit_id;
  insert into deposit (workspace_id, account_id, currency_id, amount, status, reference, payer, value_on, entry_id, assigned_from,
    transaction_id, note, created_at, updated_at)
  select t.workspace_id, t.account_id, t.currency_id, t.amount, 'booked', ended.reference, ended.payer, ended.value_on, ended.entry_id, ended.id,
         t.transaction_id, reason, (transactions[2]).created_at, (transactions[2]).created_at
  from unnest(given) t
  returning id into assigned_id;
  return assigned_id;
end $$;
