-- Reference data every workspace reads: currencies, products, banks and corridors, loaded from the reference library.

-- The id of a currency is its ISO 4217 numeric code.
create table currency (
  id integer primary key,
  code text not null unique check (code ~ '^[A-Z]{3}$'),
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
  check (maximum_amount >= minimum_amount),
  unique (destination_country, destination_currency_id, payout_method, beneficiary_account_type)
);

alter table account add constraint account_currency foreign key (currency_id) references currency;
alter table account add constraint account_product foreign key (product_id) references product;

-- The program fills in what is missing at start and follows ISO and the banks' names; the rest is the deployment's own to change.
grant select, insert on currency, product, bank, corridor to banking_app;
grant update (code, name, symbol, decimals, updated_at) on currency to banking_app;
grant update (name, country_code, swift_code, updated_at) on bank to banking_app;
