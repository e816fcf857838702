-- The memory of the sandbox's network: it plays an outside world, so it knows keys and no workspaces, and no names.

create table sandbox_rail_payment (
  key text primary key,
  amount bigint not null check (amount > 0),
  currency text not null,
  -- How often it was handed over. It is one payment all the same.
  submissions integer not null default 1,
  accepted_at timestamptz not null default clock_timestamp()
);

-- What the network says of a payment, from the time it says it. Delivered again and again until it is acknowledged.
create table sandbox_rail_event (
  key text not null references sandbox_rail_payment,
  position integer not null,
  provider_event text not null,
  status text not null,
  reason_code text,
  due_at timestamptz not null,
  -- Until when it is in somebody's hands, who may yet acknowledge it.
  handed_until timestamptz,
  acknowledged boolean not null default false,
  primary key (key, position)
);
create index sandbox_rail_event_by_due on sandbox_rail_event (due_at) where not acknowledged;

grant select on sandbox_rail_payment, sandbox_rail_event to banking_app;
grant insert (key, amount, currency) on sandbox_rail_payment to banking_app;
grant insert (key, position, provider_event, status, reason_code, due_at) on sandbox_rail_event to banking_app;
grant update (submissions) on sandbox_rail_payment to banking_app;
grant update (handed_until, acknowledged) on sandbox_rail_event to banking_app;
