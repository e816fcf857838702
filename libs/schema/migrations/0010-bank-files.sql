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
  -- and a file that is gone from there afterwards was handed over.
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
  when (old.prepared_as is not null and new.prepared_as is distinct from old.prepared_as) execute function refuse_step();

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
  primary key (rail, key),
  unique (rail, end_to_end_id),
  check (payment_information_id is null or file_id is not null)
);
create index file_payment_waiting on file_payment (rail, id) where file_id is null;
create index file_payment_of_file on file_payment (file_id, id) where file_id is not null;
create trigger filed_for_good before update of file_id, payment_information_id on file_payment for each row
  when (old.file_id is not null
    and (new.file_id, new.payment_information_id) is distinct from (old.file_id, old.payment_information_id))
  execute function refuse_step();

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
  received_at timestamptz not null default clock_timestamp(),
  check ((outcome = 'refused') = (reason is not null))
);
create unique index bank_file_read_once on bank_file (rail, digest) where outcome = 'read';
create index bank_file_refused on bank_file (received_at) where outcome = 'refused';
create index bank_file_by_time on bank_file (rail, received_at desc, id desc);

create sequence bank_statement_id_seq maxvalue 9007199254740991;
-- A statement of a bank account (`camt.053`): what its reconciliation begins and ends with.
create table bank_statement (
  id bigint primary key default nextval('bank_statement_id_seq'),
  file_id bigint not null references bank_file,
  rail text not null check (rail ~ '^[a-z][a-z0-9-]{0,30}$'),
  -- The number of the account in `RAILS_FILE`.
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
create index bank_statement_of_account on bank_statement (rail, bank_account, closed_on desc, id desc);

create sequence bank_entry_id_seq maxvalue 9007199254740991;
-- An entry of a bank account, or a detail of one that stands for several payments. Read in several files, it is one row.
create table bank_entry (
  id bigint primary key default nextval('bank_entry_id_seq'),
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
  -- The first statement that lists it as booked.
  statement_id bigint references bank_statement,
  -- The reference of our own payment, where the bank repeats it.
  end_to_end_id text check (char_length(end_to_end_id) between 1 and 100),
  uetr text check (char_length(uetr) between 1 and 40),
  bank_reference text check (char_length(bank_reference) between 1 and 100),
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
  unique (rail, bank_account, identity),
  check ((payout_key is not null) = coalesce(outcome in ('payout', 'return'), false))
);
create index bank_entry_open on bank_entry (direction, id) where outcome is null and status = 'booked';
create index bank_entry_pending on bank_entry (rail, bank_account, id) where status = 'pending';
create index bank_entry_of_payout on bank_entry (payout_key) where payout_key is not null;
create index bank_entry_of_statement on bank_entry (statement_id, id) where statement_id is not null;
create index bank_entry_by_time on bank_entry (rail, bank_account, booked_on desc, id desc);
create trigger booked_for_good before update of status on bank_entry for each row
  when (old.status = 'booked' and new.status <> 'booked') execute function refuse_step();
create trigger known_for_good before update of outcome on bank_entry for each row
  when (old.outcome is not null and (new.outcome, new.payout_key) is distinct from (old.outcome, old.payout_key))
  execute function refuse_step();

-- How the statements of each bank account compare with the books: what a worker found last. It has no names and no texts of payers.
create table bank_reconciliation (
  rail text not null check (rail ~ '^[a-z][a-z0-9-]{0,30}$'),
  bank_account text not null check (char_length(bank_account) between 1 and 40),
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  -- The account whose workspace is that of the operator of the bank account: its administrators read this.
  suspense_account text,
  compared_at timestamptz not null default statement_timestamp(),
  difference_count integer not null check (difference_count >= 0),
  -- The balances and the first differences, as callers get them.
  result jsonb not null check (jsonb_typeof(result) = 'object'),
  primary key (rail, bank_account, currency)
);
