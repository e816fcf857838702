-- What customers instruct and follow: recipients with their beneficiaries, orders with their executions, remittances with their events.

create sequence recipient_id_seq maxvalue 9007199254740991;
create sequence beneficiary_id_seq maxvalue 9007199254740991;
create sequence remittance_id_seq maxvalue 9007199254740991;
create sequence remittance_event_id_seq maxvalue 9007199254740991;
create sequence customer_order_id_seq maxvalue 9007199254740991;
create sequence execution_id_seq maxvalue 9007199254740991;

create table recipient (
  workspace_id bigint not null,
  id bigint not null default nextval('recipient_id_seq'),
  kind text not null check (kind in ('internal', 'international')),
  name text not null,
  account_code text not null,
  alias text,
  saved boolean not null default true,
  currency_id integer not null,
  bank_id bigint,
  -- Forgotten recipients leave the lists; past transfers keep theirs.
  forgotten_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
);

-- Regulated data about who finally owns the money; its own table, so that it can be guarded by itself.
create table beneficiary (
  workspace_id bigint not null,
  id bigint not null default nextval('beneficiary_id_seq'),
  recipient_id bigint not null,
  data jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, recipient_id)
);

create table customer_order (
  workspace_id bigint not null,
  id bigint not null default nextval('customer_order_id_seq'),
  account_id bigint not null,
  recipient_id bigint not null,
  amount bigint not null check (amount > 0),
  type text not null check (type in ('instant', 'scheduled', 'recurring')),
  status text not null check (status in ('active', 'completed', 'cancelled', 'failed')),
  description text,
  purpose_code text,
  repeat_unit text check (repeat_unit in ('daily', 'weekly', 'monthly')),
  repeat_value integer check (repeat_value between 1 and 366),
  start_at timestamptz,
  stop_at timestamptz,
  external_reference text,
  metadata jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, external_reference)
);

-- One run of an order. Its parent is written in the same flight, so the verifier checks the pair instead of a foreign key.
create table execution (
  workspace_id bigint not null,
  id bigint not null default nextval('execution_id_seq'),
  order_id bigint not null,
  sequence integer not null check (sequence > 0),
  status text not null check (status in ('scheduled', 'pending', 'completed', 'failed', 'cancelled')),
  transaction_id bigint,
  scheduled_at timestamptz not null,
  executed_at timestamptz,
  failure_code text,
  failure_message text,
  primary key (workspace_id, id),
  unique (workspace_id, order_id, sequence)
);

-- A transaction on its way through the outside network, and what the network said of it.
create table remittance (
  workspace_id bigint not null,
  id bigint not null default nextval('remittance_id_seq'),
  transaction_id bigint not null,
  created_at timestamptz not null default statement_timestamp(),
  updated_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, id),
  unique (workspace_id, transaction_id)
);

create table remittance_event (
  workspace_id bigint not null,
  id bigint not null default nextval('remittance_event_id_seq'),
  remittance_id bigint not null,
  -- The provider's own name of the event: a repeated one is recorded once.
  provider_event text not null,
  status text not null,
  message text,
  reason_code text,
  created_at timestamptz not null default statement_timestamp(),
  last_updated_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, id),
  unique (workspace_id, remittance_id, provider_event)
);

alter table recipient add constraint recipient_workspace foreign key (workspace_id) references workspace;
alter table recipient add constraint recipient_currency foreign key (currency_id) references currency;
alter table recipient add constraint recipient_bank foreign key (bank_id) references bank;
alter table beneficiary add constraint beneficiary_recipient
  foreign key (workspace_id, recipient_id) references recipient (workspace_id, id);
alter table transfer add constraint transfer_recipient
  foreign key (workspace_id, recipient_id) references recipient (workspace_id, id);
alter table customer_order add constraint customer_order_account
  foreign key (workspace_id, account_id) references account (workspace_id, id);
alter table customer_order add constraint customer_order_recipient
  foreign key (workspace_id, recipient_id) references recipient (workspace_id, id);

create trigger append_only before update or delete on remittance_event for each row execute function refuse_change();
create trigger append_only_truncate before truncate on remittance_event for each statement execute function refuse_change();

do $$
declare
  relation text;
begin
  foreach relation in array array['recipient', 'beneficiary', 'customer_order', 'execution', 'remittance', 'remittance_event'] loop
    execute format('alter table %I enable row level security', relation);
    execute format('alter table %I force row level security', relation);
    execute format(
      'create policy workspaces on %I
         using (workspace_id = any(nullif(current_setting(''app.workspaces'', true), '''')::bigint[]))
         with check (workspace_id = any(nullif(current_setting(''app.workspaces'', true), '''')::bigint[]))', relation);
  end loop;
end $$;

grant usage on sequence recipient_id_seq, beneficiary_id_seq, remittance_id_seq, remittance_event_id_seq,
  customer_order_id_seq, execution_id_seq to banking_app;
grant select, insert on recipient, beneficiary, customer_order, execution, remittance, remittance_event to banking_app;
grant update (alias, saved, forgotten_at, updated_at) on recipient to banking_app;
grant update (status, updated_at) on customer_order to banking_app;
grant update (status, transaction_id, executed_at, failure_code, failure_message) on execution to banking_app;
grant update (updated_at) on remittance to banking_app;
