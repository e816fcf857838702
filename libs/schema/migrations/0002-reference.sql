-- Reference data that every workspace reads: currencies, products, banks and corridors. A process keeps it in memory by its version.

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
  updated_at timestamptz not null default now(),
  -- Has no meaning without a minimum.
  swift_minimum_is_demo boolean not null default true
);

create table product (
  id bigint primary key,
  name text not null,
  description text,
  currency_id integer not null references currency,
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
  enabled boolean not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- True until the deployment has set the limits and the delivery time itself.
  is_demo boolean not null default true,
  constraint corridor_arrives unique (id, destination_currency_id),
  unique (destination_country, destination_currency_id, payout_method, beneficiary_account_type),
  check (maximum_amount >= minimum_amount)
);

create table reference_version (
  is_current boolean default true check (is_current) primary key,
  version bigint not null default 1
);

insert into reference_version default values;

create function change_reference_version() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid not in ('banking.currency'::regclass, 'banking.product'::regclass, 'banking.bank'::regclass) then
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

create table reference_snapshot (
  version bigint primary key,
  -- Currencies, products and banks, each as a list of rows.
  facts json not null,
  created_at timestamptz not null default statement_timestamp()
);
