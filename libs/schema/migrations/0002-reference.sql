-- Reference data that every workspace reads. Only documents change it: those of a release, and those of operators. A process keeps it in
-- memory by its version.

create sequence reference_change_id_seq maxvalue 9007199254740991;
-- What documents have stated, and when it applies. The rows of the tables below are what was applied last.
create table reference_change (
  id bigint primary key default nextval('reference_change_id_seq'),
  -- `release`: what a release of the service states, such as currencies. `file`: the file that a service is started with. `operator`: a command.
  origin text not null check (origin in ('release', 'file', 'operator')),
  -- A member for each part that the document states; the terms of each corridor written out.
  content jsonb not null check (jsonb_typeof(content) = 'object'),
  effective_at timestamptz not null,
  recorded_at timestamptz not null default statement_timestamp(),
  recorded_by text not null check (char_length(recorded_by) between 1 and 200),
  -- The operating system user of an operator's command.
  operating_system_user text check (char_length(operating_system_user) between 1 and 200),
  applied_at timestamptz,
  -- Withdrawn before it was applied.
  withdrawn_at timestamptz,
  withdrawn_by text check (char_length(withdrawn_by) between 1 and 200),
  check (applied_at is null or withdrawn_at is null),
  check ((withdrawn_at is null) = (withdrawn_by is null))
);
create index reference_change_waiting on reference_change (effective_at) where applied_at is null and withdrawn_at is null;
create trigger legal_step before update on reference_change for each row
  when (old.applied_at is not null or old.withdrawn_at is not null or new.applied_at is null and new.withdrawn_at is null)
  execute function refuse_step();

-- The id of a currency is its ISO 4217 numeric code.
create table currency (
  id integer primary key,
  code text not null check (code ~ '^[A-Z]{3}$') unique,
  name text not null,
  symbol text,
  decimals smallint check (decimals between 0 and 4),
  -- Minor units of this currency.
  swift_minimum_withdrawal_amount bigint check (swift_minimum_withdrawal_amount > 0),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table product (
  id bigint primary key,
  name text not null,
  description text,
  currency_id integer not null references currency,
  -- False once a document leaves the product out: its accounts stay, and no other is opened.
  offered boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table bank (
  id bigint primary key,
  name text not null,
  country_code text check (country_code ~ '^[A-Z]{2}$'),
  swift_code text unique,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table corridor (
  id bigint primary key,
  destination_country text not null check (destination_country ~ '^[A-Z]{2}$'),
  destination_currency_id integer not null references currency,
  limit_currency_id integer not null references currency,
  payout_method text not null,
  beneficiary_account_type text not null,
  routing_code_type text not null,
  delivery_tat text not null,
  -- Minor units of the limit currency, both inclusive.
  minimum_amount bigint not null check (minimum_amount >= 0),
  maximum_amount bigint not null,
  -- The price of a payment, in minor units of the limit currency: a fixed amount and a share, within a minimum and a maximum. Null if it is free.
  fee_fixed_amount bigint check (fee_fixed_amount >= 0),
  fee_parts_per_million integer check (fee_parts_per_million between 0 and 1000000),
  fee_minimum_amount bigint check (fee_minimum_amount >= 0),
  fee_maximum_amount bigint,
  enabled boolean not null,
  -- The document that stated these terms. Quotes and payouts keep it.
  change_id bigint not null references reference_change,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (fee_maximum_amount >= fee_minimum_amount),
  check (num_nulls(fee_fixed_amount, fee_parts_per_million, fee_minimum_amount) in (0, 3)),
  check (fee_fixed_amount is not null or fee_maximum_amount is null),
  constraint corridor_arrives unique (id, destination_currency_id),
  unique (destination_country, destination_currency_id, payout_method, beneficiary_account_type),
  check (maximum_amount >= minimum_amount)
);

-- The purpose codes of payments.
create table purpose (
  -- The country whose own list has the code, or `other`: the list of all countries without a list of their own.
  list text not null check (list ~ '^([A-Z]{2}|other)$'),
  code text not null check (code ~ '^[A-Za-z0-9-]{1,35}$'),
  text text not null,
  primary key (list, code)
);

create table reference_version (
  is_current boolean default true check (is_current) primary key,
  version bigint not null default 1
);

insert into reference_version default values;

create function change_reference_version() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid not in ('banking.currency'::regclass, 'banking.product'::regclass, 'banking.bank'::regclass,
                      'banking.purpose'::regclass) then
    raise exception 'change_reference_version runs for reference tables only' using errcode = 'BK013';
  end if;
  update reference_version set version = version + 1;
  return null;
end $$;

create trigger currency_version after insert or update or delete on currency
  for each row execute function change_reference_version();
create trigger product_version after insert or update or delete on product
  for each row execute function change_reference_version();
create trigger bank_version after insert or update or delete on bank
  for each row execute function change_reference_version();
create trigger purpose_version after insert or update or delete on purpose
  for each row execute function change_reference_version();

create table reference_snapshot (
  version bigint primary key,
  -- Currencies, products, banks and purposes, each as a list of rows.
  facts json not null,
  created_at timestamptz not null default statement_timestamp()
);

/**
 * Applies one document, as a whole. A part that it states is replaced: a corridor that it leaves out is closed, a product is not offered any
 * more, a purpose is deleted. Rows that do not change keep their time.
 */
create function apply_reference_change(change reference_change) returns void
  language plpgsql set search_path = banking, pg_temp as $$
declare
  at timestamptz := statement_timestamp();
begin
  insert into currency as old (id, code, name, symbol, decimals, created_at, updated_at)
  select s.id, s.code, s.name, s.symbol, s.decimals, at, at
  from jsonb_to_recordset(change.content -> 'currencies') s (id integer, code text, name text, symbol text, decimals smallint)
  on conflict (id) do update
    set code = excluded.code, name = excluded.name, symbol = excluded.symbol, decimals = excluded.decimals, updated_at = excluded.updated_at
    where (old.code, old.name, old.symbol, old.decimals)
      is distinct from (excluded.code, excluded.name, excluded.symbol, excluded.decimals);

  insert into bank as old (id, name, country_code, swift_code, created_at, updated_at)
  select s.id, s.name, s."countryCode", s."swiftCode", at, at
  from jsonb_to_recordset(change.content -> 'banks') s (id bigint, name text, "countryCode" text, "swiftCode" text)
  on conflict (id) do update
    set name = excluded.name, country_code = excluded.country_code, swift_code = excluded.swift_code, updated_at = excluded.updated_at
    where (old.name, old.country_code, old.swift_code) is distinct from (excluded.name, excluded.country_code, excluded.swift_code);

  insert into product as old (id, name, description, currency_id, created_at, updated_at)
  select s.id, s.name, s.description, c.id, at, at
  from jsonb_to_recordset(change.content -> 'products') s (id bigint, name text, description text, currency text)
  left join currency c on c.code = s.currency
  on conflict (id) do update
    set name = excluded.name, description = excluded.description, currency_id = excluded.currency_id, offered = true,
        updated_at = excluded.updated_at
    where (old.name, old.description, old.currency_id, old.offered)
      is distinct from (excluded.name, excluded.description, excluded.currency_id, true);
  update product p set offered = false, updated_at = at
  where change.content ? 'products' and p.offered
    and not exists (select from jsonb_to_recordset(change.content -> 'products') s (id bigint) where s.id = p.id);

  update currency c set swift_minimum_withdrawal_amount = (change.content -> 'swiftMinimums' ->> c.code)::bigint,
    updated_at = at
  where change.content ? 'swiftMinimums'
    and c.swift_minimum_withdrawal_amount is distinct from (change.content -> 'swiftMinimums' ->> c.code)::bigint;

  delete from purpose p
  where change.content ? 'purposes' and not exists (
    select from jsonb_to_recordset(change.content -> 'purposes') s (code text, countries jsonb)
    where s.code = p.code and coalesce(s.countries, '["other"]') ? p.list);
  insert into purpose as old (list, code, text)
  select l.list, s.code, s.text
  from jsonb_to_recordset(change.content -> 'purposes') s (code text, text text, countries jsonb)
  cross join jsonb_array_elements_text(coalesce(s.countries, '["other"]')) l (list)
  on conflict (list, code) do update set text = excluded.text where old.text <> excluded.text;

  insert into corridor as old (id, destination_country, destination_currency_id, limit_currency_id, payout_method,
    beneficiary_account_type, routing_code_type, delivery_tat, minimum_amount, maximum_amount, fee_fixed_amount, fee_parts_per_million,
    fee_minimum_amount, fee_maximum_amount, enabled, change_id, created_at, updated_at)
  select s.id, s."destinationCountry", d.id, l.id, s."payoutMethod", s."beneficiaryAccountType", s."routingCodeType", s."deliveryTAT",
    s."minimumAmount", s."maximumAmount", (s.fee ->> 'fixedAmount')::bigint, (s.fee ->> 'partsPerMillion')::integer,
    (s.fee ->> 'minimumAmount')::bigint, (s.fee ->> 'maximumAmount')::bigint, s.enabled, change.id, at,
    at
  from jsonb_to_recordset(change.content -> 'corridors') s (id bigint, "destinationCountry" text, "destinationCurrency" text,
    "limitCurrency" text, "payoutMethod" text, "beneficiaryAccountType" text, "routingCodeType" text, "deliveryTAT" text,
    "minimumAmount" bigint, "maximumAmount" bigint, fee jsonb, enabled boolean)
  left join currency d on d.code = s."destinationCurrency"
  left join currency l on l.code = s."limitCurrency"
  on conflict (id) do update
    set destination_country = excluded.destination_country, destination_currency_id = excluded.destination_currency_id,
        limit_currency_id = excluded.limit_currency_id, payout_method = excluded.payout_method,
        beneficiary_account_type = excluded.beneficiary_account_type, routing_code_type = excluded.routing_code_type,
        delivery_tat = excluded.delivery_tat, minimum_amount = excluded.minimum_amount, maximum_amount = excluded.maximum_amount,
        fee_fixed_amount = excluded.fee_fixed_amount, fee_parts_per_million = excluded.fee_parts_per_million,
        fee_minimum_amount = excluded.fee_minimum_amount, fee_maximum_amount = excluded.fee_maximum_amount,
        enabled = excluded.enabled, change_id = excluded.change_id, updated_at = excluded.updated_at
    where (old.destination_country, old.destination_currency_id, old.limit_currency_id, old.payout_method, old.beneficiary_account_type,
           old.routing_code_type, old.delivery_tat, old.minimum_amount, old.maximum_amount, old.fee_fixed_amount, old.fee_parts_per_million,
           old.fee_minimum_amount, old.fee_maximum_amount, old.enabled)
      is distinct from
          (excluded.destination_country, excluded.destination_currency_id, excluded.limit_currency_id, excluded.payout_method,
           excluded.beneficiary_account_type, excluded.routing_code_type, excluded.delivery_tat, excluded.minimum_amount,
           excluded.maximum_amount, excluded.fee_fixed_amount, excluded.fee_parts_per_million, excluded.fee_minimum_amount,
           excluded.fee_maximum_amount, excluded.enabled);
  update corridor k set enabled = false, change_id = change.id, updated_at = at
  where change.content ? 'corridors' and k.enabled
    and not exists (select from jsonb_to_recordset(change.content -> 'corridors') s (id bigint) where s.id = k.id);
end $$;

/**
 * Applies the documents that are effective, in the order of their times. One of an operator that no longer fits is withdrawn, so that it
 * stops no other.
 *
 * @returns the documents that were applied
 */
create function apply_reference_changes() returns setof bigint
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  change reference_change;
begin
  if not exists (
    select from reference_change
    where applied_at is null and withdrawn_at is null and effective_at <= statement_timestamp()) then
    return;
  end if;
  perform from reference_version for update;
  for change in
    select * from reference_change
    where applied_at is null and withdrawn_at is null and effective_at <= statement_timestamp()
    order by effective_at, id
  loop
    begin
      perform apply_reference_change(change);
      update reference_change set applied_at = statement_timestamp() where id = change.id;
      return next change.id;
    exception when integrity_constraint_violation or data_exception or sqlstate 'BK003' then
      if change.origin = 'release' then
        raise;
      end if;
      update reference_change set withdrawn_at = statement_timestamp(), withdrawn_by = left('failed: ' || sqlerrm, 200)
      where id = change.id;
    end;
  end loop;
end $$;

/**
 * Records what a document states, to be applied when it is effective. At most one document waits besides those of a release; the same one
 * again is that one. What cannot be applied is refused.
 *
 * @param withdraws whether a document that waits is withdrawn; otherwise another one is refused. A file replaces what an earlier file stated
 * @param effective the time; null for now, as an earlier one
 */
/** @param by_source the release, or the setting that names the file; of an operator, the login is recorded */
create function record_reference_change(stated jsonb, of_origin text, effective timestamptz, by_source text, withdraws boolean)
  returns bigint
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  by_name text := case of_origin when 'operator' then operator_name() else by_source end;
  recorded reference_change;
begin
  -- One after the other, and none while another is applied.
  perform from reference_version for update;
  perform apply_reference_changes();
  if coalesce((stated ->> 'sandboxOnly')::boolean, false) and not exists (select from deployment_mode where is_sandbox) then
    raise exception 'a live database takes no invented reference data' using errcode = 'BK014';
  end if;
  if has_forbidden_character(stated) then
    raise exception 'reference data has a control, format or private-use character' using errcode = 'check_violation';
  end if;
  if of_origin = 'release' then
    -- Several processes of a release start at the same time.
    select c.* into recorded from reference_change c
    where c.origin = 'release' and c.content = stated and not exists (
      select from reference_change n
      where n.origin = 'release' and n.id > c.id and n.content ?| array(select jsonb_object_keys(stated)));
  else
    select c.* into recorded from reference_change c
    where c.applied_at is null and c.withdrawn_at is null and c.content = stated and c.effective_at = effective;
    if recorded.id is null then
      update reference_change set withdrawn_at = statement_timestamp(), withdrawn_by = by_name
      where applied_at is null and withdrawn_at is null and origin <> 'release' and (withdraws or origin = 'file' and of_origin = 'file');
      if exists (select from reference_change where applied_at is null and withdrawn_at is null and origin <> 'release') then
        raise exception 'another document waits' using errcode = 'BK014';
      end if;
    end if;
  end if;
  if recorded.id is not null then
    return recorded.id;
  end if;
  insert into reference_change (origin, content, effective_at, recorded_by, operating_system_user)
  values (of_origin, stated, greatest(effective, statement_timestamp()), by_name,
    case of_origin when 'operator' then nullif(current_setting('app.operating_system_user', true), '') end)
  returning * into recorded;
  begin
    perform apply_reference_change(recorded);
    raise exception 'tried';
  exception when raise_exception then
    null;
  end;
  return recorded.id;
end $$;

create function withdraw_reference_changes() returns setof bigint
  language sql security definer set search_path = banking, pg_temp as $$
  update reference_change set withdrawn_at = statement_timestamp(), withdrawn_by = operator_name()
  where applied_at is null and withdrawn_at is null and origin <> 'release' and effective_at > statement_timestamp()
  returning id
$$;
