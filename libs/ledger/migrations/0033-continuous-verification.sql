-- Continuous verification: transactions that are not verified yet, the position of the repeated verification, and the stop of payouts.

-- One row for each transaction and INSERT of transfers, written with them and deleted when they are verified. The rows say what is new,
-- because ids and times are not in the order of commits. It is read over all workspaces, so it has no row-level security and holds
-- nothing but ids.
create table unverified_transaction (
  workspace_id bigint not null,
  transaction_id bigint not null,
  -- The first transfer of the INSERT. Transfers that are added to a transaction later make a row of their own.
  transfer_id bigint not null,
  primary key (workspace_id, transaction_id, transfer_id)
);
-- Deleted rows leave dead index entries until a vacuum, as in `work`.
alter table unverified_transaction set (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.05, vacuum_truncate = off);

create function note_unverified() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.transfer'::regclass or tg_op <> 'INSERT' or tg_when <> 'AFTER' or tg_level <> 'STATEMENT' then
    raise exception 'note_unverified runs after an INSERT into transfer only' using errcode = 'BK013';
  end if;
  insert into unverified_transaction (workspace_id, transaction_id, transfer_id)
  select workspace_id, transaction_id, min(id) from fresh group by workspace_id, transaction_id;
  return null;
end $$;
create trigger note_unverified after insert on transfer
  referencing new table as fresh for each statement execute function note_unverified();

-- Where the repeated verification of all rows stands, over all workspaces. It also reaches the rows from before this migration.
create table verification_position (
  subject text primary key check (subject in ('account', 'transaction')),
  last_workspace_id bigint not null default 0,
  last_id bigint not null default 0
);
insert into verification_position (subject) values ('account'), ('transaction');

create sequence payout_stop_id_seq maxvalue 9007199254740991;

-- A verification had findings: no payout is submitted until an operator resumes payouts. At most one stop is open.
create table payout_stop (
  id bigint primary key default nextval('payout_stop_id_seq'),
  stopped_at timestamptz not null default statement_timestamp(),
  finding_count integer not null check (finding_count > 0),
  workspace_ids bigint[] not null,
  -- The first findings, as evidence. They contain balances of any workspace, so the app role cannot read them.
  findings jsonb not null,
  resumed_at timestamptz,
  resumed_by text check (char_length(resumed_by) between 1 and 200),
  check ((resumed_at is null) = (resumed_by is null))
);
create unique index payout_stop_open on payout_stop ((true)) where resumed_at is null;

create function step_payout_stop() returns trigger language plpgsql as $$
begin
  if (old.id, old.stopped_at, old.finding_count, old.workspace_ids, old.findings)
     is distinct from (new.id, new.stopped_at, new.finding_count, new.workspace_ids, new.findings) then
    raise exception 'payout_stop is append-only but for its end' using errcode = 'BK003';
  end if;
  if old.resumed_at is not null or new.resumed_at is null then
    raise exception 'payouts are resumed once after a stop' using errcode = 'BK004';
  end if;
  return new;
end $$;
create trigger legal_step before update on payout_stop for each row execute function step_payout_stop();
create trigger append_only before delete on payout_stop for each row execute function refuse_change();
create trigger append_only_truncate before truncate on payout_stop for each statement execute function refuse_change();

-- The service may stop payouts and not resume them: resuming takes the role of an operator.
grant select, delete on unverified_transaction to banking_app;
grant select, update (last_workspace_id, last_id) on verification_position to banking_app;
grant usage on sequence payout_stop_id_seq to banking_app;
grant select (id, stopped_at, finding_count, workspace_ids, resumed_at) on payout_stop to banking_app;
grant insert (finding_count, workspace_ids, findings) on payout_stop to banking_app;
grant select, update (resumed_at, resumed_by) on payout_stop to banking_provisioning;
