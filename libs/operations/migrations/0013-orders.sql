-- Orders as they are placed, run and cancelled: what binds their fields, their steps, and what a conversion left over.

alter table customer_order add column quote_id bigint;
-- Who placed it; null for the deployment itself.
alter table customer_order add column placed_by bigint;
-- As it was sent: what repeats is counted from this local day and time, at this offset.
alter table customer_order add column anchor text;

alter table customer_order add constraint customer_order_schedule check (
  case type
    when 'instant' then num_nonnulls(start_at, stop_at, anchor, repeat_unit, repeat_value) = 0
    when 'scheduled' then num_nonnulls(stop_at, repeat_unit, repeat_value) = 0 and num_nonnulls(start_at, anchor) = 2
    else num_nonnulls(start_at, anchor, repeat_unit, repeat_value) = 4 and (stop_at is null or stop_at >= start_at)
  end);
alter table customer_order add constraint customer_order_texts check (
  char_length(description) between 1 and 512 and char_length(external_reference) between 1 and 140);
alter table customer_order add constraint customer_order_metadata check (jsonb_typeof(metadata) = 'object');

alter table execution add constraint execution_outcome check (
  case status
    when 'failed' then failure_code is not null
    when 'pending' then transaction_id is not null and executed_at is not null
    when 'completed' then transaction_id is not null and executed_at is not null
    else transaction_id is null and executed_at is null
  end);
create unique index execution_by_transaction on execution (workspace_id, transaction_id) where transaction_id is not null;

-- Partial, so that no plan takes it for a way to an order by its id.
alter table customer_order drop constraint customer_order_workspace_id_external_reference_key;
create unique index customer_order_reference on customer_order (workspace_id, external_reference)
  where external_reference is not null;
create index customer_order_by_time on customer_order (workspace_id, created_at desc, id desc);
create index customer_order_by_account on customer_order (workspace_id, account_id, created_at desc, id desc);
create index customer_order_by_recipient on customer_order (workspace_id, recipient_id, created_at desc, id desc);

create function step_order() returns trigger language plpgsql as $$
begin
  if old.status <> new.status and (old.status, new.status) not in
     (('active', 'completed'), ('active', 'cancelled'), ('active', 'failed')) then
    raise exception 'an order does not step from % to %', old.status, new.status using errcode = 'BK004';
  end if;
  return new;
end $$;
create trigger legal_step before update on customer_order for each row execute function step_order();

create function step_execution() returns trigger language plpgsql as $$
begin
  if old.status <> new.status and (old.status, new.status) not in
     (('scheduled', 'pending'), ('scheduled', 'completed'), ('scheduled', 'failed'), ('scheduled', 'cancelled'),
      ('pending', 'completed'), ('pending', 'failed')) then
    raise exception 'an execution does not step from % to %', old.status, new.status using errcode = 'BK004';
  end if;
  if old.transaction_id is not null and old.transaction_id is distinct from new.transaction_id then
    raise exception 'an execution keeps its transaction' using errcode = 'BK004';
  end if;
  return new;
end $$;
create trigger legal_step before update on execution for each row execute function step_execution();

-- A run is pending while its transaction is: whoever steps the one steps the other.
create function follow_transaction() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  update execution set status = new.status,
    failure_code = case when new.status = 'failed' then 'payout_rejected' end,
    failure_message = case when new.status = 'failed' then 'The payout was rejected, and the money has come back.' end
  where workspace_id = new.workspace_id and transaction_id = new.id and status = 'pending';
  return null;
end $$;
create trigger followed after update of status on transaction for each row
  when (old.status = 'pending' and new.status <> 'pending') execute function follow_transaction();

create trigger append_only before delete on customer_order for each row execute function refuse_change();
create trigger append_only_truncate before truncate on customer_order for each statement execute function refuse_change();
create trigger append_only before delete on execution for each row execute function refuse_change();
create trigger append_only_truncate before truncate on execution for each statement execute function refuse_change();

-- At what rate a transaction converted, and what rounding left over, in parts of a minor unit of the target currency.
create table conversion (
  workspace_id bigint not null,
  transaction_id bigint not null,
  quote_id bigint,
  source_currency_id integer not null,
  source_amount bigint not null check (source_amount > 0),
  target_currency_id integer not null check (target_currency_id <> source_currency_id),
  target_amount bigint not null check (target_amount > 0),
  rate text not null check (rate ~ '^(0|[1-9][0-9]{0,14})([.][0-9]{1,15})?$'),
  rate_source text not null,
  rate_as_of timestamptz not null,
  rounding text not null check (rounding = 'half-even'),
  remainder_numerator numeric not null,
  remainder_denominator numeric not null check (remainder_denominator > 0),
  created_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, transaction_id),
  check (abs(remainder_numerator) * 2 <= remainder_denominator)
);
alter table conversion add constraint conversion_source foreign key (source_currency_id) references currency;
alter table conversion add constraint conversion_target foreign key (target_currency_id) references currency;
create trigger append_only before update or delete on conversion for each row execute function refuse_change();
create trigger append_only_truncate before truncate on conversion for each statement execute function refuse_change();
alter table conversion enable row level security;
alter table conversion force row level security;
create policy workspaces on conversion
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));
grant select, insert on conversion to banking_app;
