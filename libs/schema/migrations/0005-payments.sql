-- What customers prepare: recipients with their beneficiaries, quotes, and the keys that make a request once.

create sequence recipient_id_seq maxvalue 9007199254740991;
create table recipient (
  workspace_id bigint not null references workspace,
  id bigint not null default nextval('recipient_id_seq'),
  kind text not null check (kind in ('internal', 'international')),
  name text not null,
  account_code text not null,
  alias text,
  saved boolean not null default true,
  currency_id integer not null references currency,
  bank_id bigint references bank,
  -- Archived recipients leave the lists; past transfers keep theirs.
  forgotten_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Country, payout method and kind of beneficiary are the corridor's; it stays, also when it is closed.
  corridor_id bigint,
  -- When the network was last asked whose account it is. Asking is limited, also where no answer came.
  verification_asked_at timestamptz,
  -- What it answered last, with the name of the account if that is close.
  verification text check (verification in ('match', 'close_match', 'no_match', 'not_possible')),
  verified_name text check (char_length(verified_name) between 1 and 140),
  verified_at timestamptz,
  -- Payments cover name and account by this digest. Once they are erased, only the digest is left.
  person_salt bytea default uuid_send(gen_random_uuid()) check (length(person_salt) = 16),
  person_digest bytea not null check (length(person_digest) = 32),
  -- When its texts became pseudonyms. An erased recipient is archived.
  erased_at timestamptz,
  primary key (workspace_id, id),
  constraint recipient_paid_in unique (workspace_id, id, currency_id),
  constraint recipient_kind check ((kind = 'international') = (corridor_id is not null)),
  constraint recipient_verification check ((verification is null) = (verified_at is null)
    and (verified_name is not null) = coalesce(verification = 'close_match', false)),
  constraint recipient_texts check (char_length(name) between 1 and 140 and char_length(account_code) between 1 and 140
    and char_length(alias) between 1 and 140),
  constraint recipient_erased check ((erased_at is null) = (person_salt is not null) and (erased_at is null or forgotten_at is not null)),
  -- With the currency, so that the two cannot disagree.
  constraint recipient_corridor foreign key (corridor_id, currency_id) references corridor (id, destination_currency_id)
);
create index recipient_by_class on recipient (workspace_id, saved, created_at desc, id desc) where forgotten_at is null;
create index recipient_by_asking on recipient (workspace_id, verification_asked_at) where verification_asked_at is not null;

-- By the database, so that no writer of a recipient can leave it out. An erased one comes from another database, with its digest.
create function digest_person() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if new.person_salt is not null then
    new.person_digest := salted_digest(new.person_salt, array[new.name, new.account_code]);
  end if;
  return new;
end $$;
create trigger digested before insert on recipient for each row execute function digest_person();
alter table recipient enable always trigger digested;

create sequence beneficiary_id_seq maxvalue 9007199254740991;
-- Regulated data about who finally owns the money; its own table, so that it can be guarded by itself.
create table beneficiary (
  workspace_id bigint not null,
  id bigint not null default nextval('beneficiary_id_seq'),
  recipient_id bigint not null,
  data jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id),
  constraint beneficiary_fields check (jsonb_typeof(data) = 'object'
    and (data - array['beneficiaryName', 'beneficiaryAddress', 'destinationCountry', 'beneficiaryAccountType', 'beneficiaryCountryCode', 'beneficiaryAccountNumber', 'routingCodeType1', 'routingCodeValue1',
      'beneficiaryStreetName', 'beneficiaryBuildingNumber', 'beneficiaryPostCode', 'beneficiaryTownName']) = '{}'),
  constraint beneficiary_recipient foreign key (workspace_id, recipient_id) references recipient (workspace_id, id)
);

create unique index beneficiary_of_recipient on beneficiary (workspace_id, recipient_id) where recipient_id is not null;

-- The beneficiary of a recipient. With `limit 1` it is found by its key, also by a plan from the time when the table was small.
create function beneficiary_of(of_workspace bigint, of_recipient bigint) returns setof beneficiary
  language sql stable as $$
  select * from beneficiary b where b.workspace_id = of_workspace and b.recipient_id = of_recipient limit 1
$$;

-- But for its erasure.
create trigger archived_for_good before update on recipient for each row
  when (old.forgotten_at is not null and (old.erased_at is not null or new.erased_at is null)) execute function refuse_change();

create sequence quote_id_seq maxvalue 9007199254740991;
create table quote (
  workspace_id bigint not null,
  id bigint not null default nextval('quote_id_seq'),
  account_id bigint not null,
  -- That of the account, of `amount` and of `fee_amount`.
  currency_id integer not null,
  amount bigint not null check (amount > 0),
  recipient_id bigint,
  fee_amount bigint check (fee_amount >= 0),
  target_currency_id integer not null references currency,
  target_amount bigint not null check (target_amount > 0),
  -- Whole units of the target currency for one whole unit of the account's, digit for digit as it was shown and used.
  rate text not null check (rate ~ '^(0|[1-9][0-9]{0,14})([.][0-9]{1,15})?$'),
  rate_source text,
  rate_as_of timestamptz,
  rounding text not null,
  -- What rounding left over, in parts of a minor unit of the target currency. Booked with the money, never dropped.
  remainder_numerator numeric not null,
  remainder_denominator numeric not null check (remainder_denominator > 0),
  created_at timestamptz not null default statement_timestamp(),
  expires_at timestamptz not null,
  -- Which amount the caller fixed. `source`: what arrives is rounded down, so less than one minor unit of the target currency is left
  -- over. `target`: exactly what was asked for arrives, and what leaves is the smallest amount that covers it, so less is left over than
  -- one minor unit of the source currency is worth. In both cases the remainder stays on the fx account of the workspace.
  fixed_side text not null default 'source' check (fixed_side in ('source', 'target')),
  -- The document that stated the terms of the corridor: a row of `reference_change`, in the database that priced the payment.
  terms_change_id bigint,
  primary key (workspace_id, id),
  check ((recipient_id is null) = (fee_amount is null)),
  check ((currency_id = target_currency_id) = (rate_source is null)),
  check ((rate_source is null) = (rate_as_of is null)),
  check (currency_id <> target_currency_id or rate = '1'),
  check (expires_at > created_at and expires_at <= (created_at + '1 day'::interval)),
  constraint quote_rounds_down check (rounding = 'down' and remainder_numerator >= 0
    and (fixed_side = 'target' or remainder_numerator < remainder_denominator) and char_length(ltrim(replace(rate, '.', ''), '0')) <= 15),
  constraint quote_account foreign key (workspace_id, account_id, currency_id) references account (workspace_id, id, currency_id),
  constraint quote_recipient foreign key (workspace_id, recipient_id, target_currency_id)
    references recipient (workspace_id, id, currency_id)
);
create index quote_by_expiry on quote (workspace_id, expires_at) where expires_at is not null;

-- The calculation again, by the arithmetic of the database: what arrives and what is left over are the source amount at the rate, exactly.
-- If
-- the caller fixed what arrives, a source amount that is smaller by one minor unit would not cover it.
create function prove_quote() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
declare
  source_scale numeric := (select power(10::numeric, decimals) from currency where id = new.currency_id);
  target_scale numeric := (select power(10::numeric, decimals) from currency where id = new.target_currency_id);
begin
  if (new.target_amount * new.remainder_denominator + new.remainder_numerator) * source_scale
     is distinct from new.amount * new.rate::numeric * target_scale * new.remainder_denominator then
    raise exception 'a quote is not its amount at its rate' using errcode = 'BK006';
  end if;
  if new.fixed_side = 'target'
     and new.remainder_numerator * source_scale >= new.rate::numeric * target_scale * new.remainder_denominator then
    raise exception 'a quote takes more than its target amount needs' using errcode = 'BK006';
  end if;
  if new.created_at is distinct from statement_timestamp() then
    raise exception 'a quote is given now' using errcode = 'BK006';
  end if;
  return null;
end $$;

-- One that has not expired is kept, and quote_use keeps one that was used.
create trigger kept_while_it_holds before delete on quote for each row
  when (old.expires_at > statement_timestamp()) execute function refuse_change();
create trigger proven after insert on quote for each row execute function prove_quote();

create function idempotency_retention() returns interval language sql immutable parallel safe return interval '30 days';

-- The answer to a request that made something, in the database transaction that made it. Kept for the time of `idempotency_retention`.
create table idempotency (
  workspace_id bigint not null references workspace,
  -- The operation with the values of its path.
  operation text not null,
  key text not null,
  -- SHA-256 over the request in canonical JSON.
  fingerprint bytea not null check (length(fingerprint) = 32),
  -- The body as it was sent, to be sent again byte for byte.
  answer text not null,
  created_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, operation, key)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index idempotency_by_age on idempotency (created_at);
alter table idempotency alter column fingerprint set statistics 0, alter column answer set statistics 0;

create type stored_answer as (workspace_id bigint, operation text, key text, fingerprint bytea, answer text);

-- In the order of the key, so that two batches cannot deadlock. An expired answer is replaced; row-level security rejects the replacement
-- of any other.
create function store_answers(answers stored_answer[]) returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  insert into idempotency (workspace_id, operation, key, fingerprint, answer)
  select a.* from unnest(answers) a order by a.workspace_id, a.operation, a.key
  on conflict (workspace_id, operation, key)
  do update set fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at;
end $$;

-- Reads the oldest expired keys from a time on, and deletes them. Keys that are locked are skipped, because a posting replaces them. Those
-- of a workspace that is not served here are not read: it keeps its rows as they are, in both cells, and some keep them for long.
create function delete_expired_keys(keys_max integer, after_time timestamptz,
  out keys_read integer, out deleted integer, out last_time timestamptz)
  language plpgsql security definer set search_path = banking, pg_temp
  -- In the order of the index: a plan from the time when the table was small, or one that sorts, reads all keys.
  set plan_cache_mode = force_custom_plan set enable_sort = off as $$
declare
  is_cell boolean := exists (select from cell_identity);
  places tid[];
  owners bigint[];
  served bigint[];
begin
  select array_agg(e.place), array_agg(e.workspace_id), count(*), max(e.created_at)
  into places, owners, keys_read, last_time
  from (
    select i.ctid as place, i.workspace_id, i.created_at
    from idempotency i
    where i.created_at >= after_time and i.created_at <= statement_timestamp() - idempotency_retention()
      and (not is_cell or exists (select from cell_workspace c where c.workspace_id = i.workspace_id and c.state = 'open'))
    order by i.created_at limit keys_max
    for update skip locked) e;
  -- One that is being closed has its lock taken, and is left for later. The state is read behind the lock, which is that of a scope.
  served := array(select w.id from (select distinct unnest(owners)) w (id) where pg_try_advisory_xact_lock_shared(workspace_lock_key(w.id)));
  if is_cell then
    served := array(select c.workspace_id from cell_workspace c where c.workspace_id = any (served) and c.state = 'open');
  end if;
  delete from idempotency
  where ctid = any (array(select k.place from unnest(places, owners) k (place, owner) where k.owner = any (served)));
  get diagnostics deleted = row_count;
end $$;

-- The rules of a workspace, each version in full. The last one is in force. A workspace without a row never had rules.
-- The table is here because payments depend on its version; what it means is in 0014-approvals.sql.
create table approval_rules (
  workspace_id bigint not null references workspace,
  version bigint not null check (version between 1 and 9007199254740991),
  -- As the interface has them: group of operations, conditions, number of approvals, and the roles of the approvers.
  rules jsonb not null check (jsonb_typeof(rules) = 'array'),
  -- Null for the deployment itself.
  changed_by bigint,
  created_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, version)
);

-- The limits of a workspace as a whole. One that never had limits has no row, or version 0 while its first ones are being set. The limits
-- themselves are in 0013-limits.sql: this row is here because payments depend on its version.
create table limit_list (
  workspace_id bigint primary key references workspace,
  version bigint not null check (version >= 0),
  limit_count integer not null check (limit_count >= 0),
  -- The currencies of the limits on amounts.
  currency_ids integer[] not null,
  -- Whose days and months the counters are of: the time zone of the workspace when they were last used.
  time_zone text not null,
  changed_at timestamptz not null default statement_timestamp(),
  -- What limits count is noted of all payments since then, and of each payment that is committed: `infinity` if of these only, `-infinity`
  -- if a limit needs no more. Null while payments are not noted.
  noted_from timestamptz
);
