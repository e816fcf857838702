-- The reference data of each version that a response was composed with, so that its replay has the same bytes.

create table reference_snapshot (
  version bigint primary key,
  -- Currencies, products and banks, each as a list of rows.
  facts json not null,
  created_at timestamptz not null default statement_timestamp()
);
grant select, delete on reference_snapshot to banking_app;
grant insert (version, facts) on reference_snapshot to banking_app;

-- The time of an order is that of its posting, read after the locks.
create policy written_now on customer_order as restrictive for insert
  with check (created_at between now() and statement_timestamp() and updated_at = created_at);
create policy written_now on remittance as restrictive for insert
  with check (created_at between now() and statement_timestamp() and updated_at = created_at);
