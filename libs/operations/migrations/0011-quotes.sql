-- Quotes: a price that binds for a while, kept as it was given, and used by one order at most.

alter table recipient add constraint recipient_paid_in unique (workspace_id, id, currency_id);

create sequence quote_id_seq maxvalue 9007199254740991;
create table quote (
  workspace_id bigint not null,
  id bigint not null default nextval('quote_id_seq'),
  account_id bigint not null,
  -- The account's. What leaves it besides the fee, and the fee, are minor units of this.
  currency_id integer not null,
  amount bigint not null check (amount > 0),
  recipient_id bigint,
  fee_amount bigint check (fee_amount >= 0),
  target_currency_id integer not null,
  target_amount bigint not null check (target_amount > 0),
  -- Whole units of the target currency for one whole unit of the account's, digit for digit as it was shown and used.
  rate text not null check (rate ~ '^(0|[1-9][0-9]{0,14})([.][0-9]{1,15})?$'),
  rate_source text,
  rate_as_of timestamptz,
  rounding text not null check (rounding = 'half-even'),
  -- What rounding left over, in parts of a minor unit of the target currency. Booked with the money, never dropped.
  remainder_numerator numeric not null,
  remainder_denominator numeric not null check (remainder_denominator > 0),
  created_at timestamptz not null default statement_timestamp(),
  expires_at timestamptz not null,
  primary key (workspace_id, id),
  -- What a payment costs depends on the way to the recipient.
  check ((recipient_id is null) = (fee_amount is null)),
  check ((currency_id = target_currency_id) = (rate_source is null)),
  check ((rate_source is null) = (rate_as_of is null)),
  check (currency_id <> target_currency_id or rate = '1'),
  check (abs(remainder_numerator) * 2 <= remainder_denominator),
  check (expires_at > created_at and expires_at <= created_at + interval '1 day')
);
alter table quote add constraint quote_account
  foreign key (workspace_id, account_id, currency_id) references account (workspace_id, id, currency_id);
alter table quote add constraint quote_recipient
  foreign key (workspace_id, recipient_id, target_currency_id) references recipient (workspace_id, id, currency_id);
alter table quote add constraint quote_target_currency foreign key (target_currency_id) references currency;

-- The sum again, by the database's own arithmetic: what arrives and what was left over are the amount at the rate, exactly. And a
-- quote is given now, by this clock.
create function prove_quote() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
declare
  paid_decimals integer := (select decimals from currency where id = new.currency_id);
  target_decimals integer := (select decimals from currency where id = new.target_currency_id);
begin
  if (new.target_amount * new.remainder_denominator + new.remainder_numerator) * power(10::numeric, paid_decimals)
     is distinct from
     new.amount * new.rate::numeric * power(10::numeric, target_decimals) * new.remainder_denominator then
    raise exception 'a quote is not its amount at its rate' using errcode = 'BK006';
  end if;
  if new.created_at is distinct from statement_timestamp() then
    raise exception 'a quote is given now' using errcode = 'BK006';
  end if;
  return null;
end $$;
create trigger proven after insert on quote for each row execute function prove_quote();
create trigger append_only before update on quote for each row execute function refuse_change();
-- One that holds is kept by everybody, one that was used by quote_use; the others nobody needs.
create trigger kept_while_it_holds before delete on quote for each row
  when (old.expires_at > statement_timestamp()) execute function refuse_change();
create trigger append_only_truncate before truncate on quote for each statement execute function refuse_change();

-- The order that was placed at a quote. The primary key is what makes the second one fail.
create table quote_use (
  workspace_id bigint not null,
  quote_id bigint not null,
  order_id bigint not null,
  used_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, quote_id),
  unique (workspace_id, order_id)
);
alter table quote_use add constraint quote_use_quote
  foreign key (workspace_id, quote_id) references quote (workspace_id, id);
alter table quote_use add constraint quote_use_order
  foreign key (workspace_id, order_id) references customer_order (workspace_id, id);

-- Whoever names a quote must mean its payment, in time. The keys above say the rest.
create function prove_quote_use() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
declare
  promised quote;
  ordered customer_order;
begin
  select * into promised from quote where workspace_id = new.workspace_id and id = new.quote_id;
  select * into ordered from customer_order where workspace_id = new.workspace_id and id = new.order_id;
  if promised.expires_at <= statement_timestamp() then
    raise exception 'the quote has expired' using errcode = 'BK007';
  end if;
  if (ordered.account_id, ordered.amount, ordered.recipient_id)
     is distinct from (promised.account_id, promised.amount, coalesce(promised.recipient_id, ordered.recipient_id)) then
    raise exception 'the quote is of another payment' using errcode = 'BK007';
  end if;
  return null;
end $$;
create trigger proven after insert on quote_use for each row execute function prove_quote_use();
create trigger append_only before update or delete on quote_use for each row execute function refuse_change();
create trigger append_only_truncate before truncate on quote_use for each statement execute function refuse_change();

do $$
declare
  relation text;
begin
  foreach relation in array array['quote', 'quote_use'] loop
    execute format('alter table %I enable row level security', relation);
    execute format('alter table %I force row level security', relation);
    execute format(
      'create policy workspaces on %I
         using (workspace_id = any(nullif(current_setting(''app.workspaces'', true), '''')::bigint[]))
         with check (workspace_id = any(nullif(current_setting(''app.workspaces'', true), '''')::bigint[]))', relation);
  end loop;
end $$;

grant usage on sequence quote_id_seq to banking_app;
grant select, insert on quote, quote_use to banking_app;
