-- Contradictory tracking events are recorded and open a discrepancy, which an operator resolves once.

-- An event id that arrives again with another status is an event of its own.
alter table remittance_event drop constraint remittance_event_workspace_id_remittance_id_provider_event_key;
alter table remittance_event add constraint remittance_event_once unique (workspace_id, remittance_id, provider_event, status);

create sequence discrepancy_id_seq maxvalue 9007199254740991;

create table discrepancy (
  workspace_id bigint not null,
  id bigint not null default nextval('discrepancy_id_seq'),
  -- The transaction of the payout. A linked transaction that moves its money again is found from here by return_of.
  transaction_id bigint not null,
  kind text not null check (kind in ('credited_then_rejected', 'rejected_then_credited', 'event_reused')),
  -- The event that contradicts an earlier one.
  event_id bigint not null,
  opened_at timestamptz not null default statement_timestamp(),
  resolved_at timestamptz,
  resolution text check (resolution in ('returned', 'reclaimed', 'dismissed')),
  resolved_by text check (char_length(resolved_by) between 1 and 200),
  note text check (char_length(note) between 1 and 500),
  resolution_transaction_id bigint,
  primary key (workspace_id, id),
  unique (workspace_id, resolution_transaction_id),
  check ((resolved_at is null) = (resolution is null) and (resolved_at is null) = (resolved_by is null)),
  check (note is null or resolved_at is not null),
  check (resolution is distinct from 'dismissed' or note is not null),
  check ((resolution_transaction_id is not null) = coalesce(resolution in ('returned', 'reclaimed'), false)),
  check (kind <> 'credited_then_rejected' or resolution is distinct from 'reclaimed'),
  check (kind <> 'rejected_then_credited' or resolution is distinct from 'returned')
);
create unique index discrepancy_open on discrepancy (workspace_id, transaction_id, kind) where resolved_at is null;
create index discrepancy_by_transaction on discrepancy (workspace_id, transaction_id);

alter table discrepancy add constraint discrepancy_transaction
  foreign key (workspace_id, transaction_id) references transaction (workspace_id, id);
alter table discrepancy add constraint discrepancy_resolution_transaction
  foreign key (workspace_id, resolution_transaction_id) references transaction (workspace_id, id);
alter table discrepancy add constraint discrepancy_event
  foreign key (workspace_id, event_id) references remittance_event (workspace_id, id);

-- Contradictions recorded before this migration. Row-level security binds the owner too, so it is lifted for all workspaces.
alter table remittance no force row level security;
alter table remittance_event no force row level security;
alter table transaction no force row level security;
insert into discrepancy (workspace_id, transaction_id, kind, event_id)
select x.workspace_id, x.id, case x.status when 'completed' then 'credited_then_rejected' else 'rejected_then_credited' end, min(e.id)
from remittance_event e
  join remittance m on (m.workspace_id, m.id) = (e.workspace_id, e.remittance_id)
  join transaction x on (x.workspace_id, x.id) = (m.workspace_id, m.transaction_id)
where (x.status, e.status) in (('completed', 'RJCT'), ('failed', 'ACCC'))
group by x.workspace_id, x.id, x.status;
alter table remittance force row level security;
alter table remittance_event force row level security;
alter table transaction force row level security;

create function step_discrepancy() returns trigger language plpgsql as $$
begin
  if (old.workspace_id, old.id, old.transaction_id, old.kind, old.event_id, old.opened_at)
     is distinct from (new.workspace_id, new.id, new.transaction_id, new.kind, new.event_id, new.opened_at) then
    raise exception 'discrepancy is append-only but for its resolution' using errcode = 'BK003';
  end if;
  if old.resolved_at is not null or new.resolved_at is null then
    raise exception 'a discrepancy is resolved once' using errcode = 'BK004';
  end if;
  return new;
end $$;
create trigger legal_step before update on discrepancy for each row execute function step_discrepancy();
create trigger append_only before delete on discrepancy for each row execute function refuse_change();
create trigger append_only_truncate before truncate on discrepancy for each statement execute function refuse_change();

-- At commit, because the transaction takes its step after the event is written. A final status may agree with where a resolution has
-- brought the money since.
create function require_discrepancy() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
declare
  stands record;
begin
  select x.id, x.status into stands
  from remittance m join transaction x on (x.workspace_id, x.id) = (m.workspace_id, m.transaction_id)
  where m.workspace_id = new.workspace_id and m.id = new.remittance_id;
  if (stands.status, new.status) in (('completed', 'RJCT'), ('failed', 'ACCC'))
     and not exists (
       select from discrepancy d
       where d.workspace_id = new.workspace_id and d.transaction_id = stands.id
         and (d.resolution_transaction_id is not null
           or d.kind = case new.status when 'RJCT' then 'credited_then_rejected' else 'rejected_then_credited' end))
     or exists (
       select from remittance_event e
       where e.workspace_id = new.workspace_id and e.remittance_id = new.remittance_id
         and e.provider_event = new.provider_event and e.status <> new.status)
     and not exists (
       select from discrepancy d
       where d.workspace_id = new.workspace_id and d.transaction_id = stands.id and d.kind = 'event_reused') then
    raise exception 'a contradictory event needs its discrepancy' using errcode = 'BK010';
  end if;
  return null;
end $$;
create constraint trigger contradiction_is_open after insert on remittance_event
  deferrable initially deferred for each row execute function require_discrepancy();

-- At commit, because a rejection posts the return before its transaction fails. Money that has arrived comes back, and money that
-- has come back is taken again, only to resolve a discrepancy.
create function require_return_reason() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if not exists (
    select from transaction x
    where x.workspace_id = new.workspace_id and x.id = new.return_of
      and (x.status = 'failed' or x.status = 'completed' and exists (
        select from discrepancy d
        where d.workspace_id = new.workspace_id and d.resolution_transaction_id = new.id))) then
    raise exception 'a return needs a failed transaction or a discrepancy' using errcode = 'BK011';
  end if;
  return null;
end $$;
create constraint trigger return_has_reason after insert on transaction
  deferrable initially deferred for each row when (new.return_of is not null) execute function require_return_reason();

alter table discrepancy enable row level security;
alter table discrepancy force row level security;
create policy workspaces on discrepancy
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));

grant usage on sequence discrepancy_id_seq to banking_app;
grant select on discrepancy to banking_app;
grant insert (workspace_id, transaction_id, kind, event_id) on discrepancy to banking_app;
grant update (resolved_at, resolution, resolved_by, note, resolution_transaction_id) on discrepancy to banking_app;
