-- Carrying transactions out over a rail: payouts with their steps, and the queue of what is due.

-- A transaction on its way to the outside network. It is written in one flight with its transaction and its remittance, so the
-- verifier checks them instead of foreign keys.
create table payout (
  workspace_id bigint not null,
  transaction_id bigint not null,
  status text not null default 'due' check (status in ('due', 'submitting', 'submitted', 'settled', 'failed', 'parked')),
  -- How often it was taken up to be handed to the rail. After the first time nobody knows whether the rail has it, until it is asked.
  tries integer not null default 0 check (tries >= 0),
  -- The claim under which it was last taken up.
  fence bigint not null default 0 check (fence >= 0),
  -- Why it is parked, or why the last try came to nothing.
  reason text check (char_length(reason) <= 500),
  parked_at timestamptz,
  created_at timestamptz not null default statement_timestamp(),
  updated_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, transaction_id),
  check ((status = 'parked') = (parked_at is not null))
);

-- settled and failed are final: money that comes back later is a new transaction. The rail's last word may come at any step, also
-- before it is known that the rail has the payment.
create function step_payout() returns trigger language plpgsql as $$
begin
  if (old.workspace_id, old.transaction_id, old.created_at) is distinct from (new.workspace_id, new.transaction_id, new.created_at)
     or new.tries < old.tries or new.fence < old.fence then
    raise exception 'a payout goes forward only' using errcode = 'BK003';
  end if;
  if old.status in ('settled', 'failed')
     or new.status <> old.status and not (case old.status
       when 'due' then new.status in ('submitting', 'settled', 'failed')
       when 'submitting' then new.status in ('submitted', 'parked', 'settled', 'failed')
       when 'submitted' then new.status in ('parked', 'settled', 'failed')
       when 'parked' then new.status in ('due', 'settled', 'failed')
       else false end) then
    raise exception 'payout cannot go from % to %', old.status, new.status using errcode = 'BK004';
  end if;
  return new;
end $$;
create trigger legal_step before update on payout for each row execute function step_payout();
create trigger append_only before delete on payout for each row execute function refuse_change();
create trigger append_only_truncate before truncate on payout for each statement execute function refuse_change();

-- What is to be done, and when: one row a subject, gone when it is done. It is claimed over all workspaces with one statement, so
-- it has no row-level security and holds nothing but ids, times and our own words.
create table work (
  workspace_id bigint not null,
  -- Who does it, such as `payout`.
  kind text not null check (kind ~ '^[a-z][a-z-]{0,30}$'),
  subject_id bigint not null,
  due_at timestamptz not null default statement_timestamp(),
  -- Until when it is somebody's. By the database's clock, as every instant here.
  leased_until timestamptz,
  -- Raised by each claim: who holds an older one can finish nothing.
  fence bigint not null default 0 check (fence >= 0),
  tries integer not null default 0 check (tries >= 0),
  parked_at timestamptz,
  reason text check (char_length(reason) <= 500),
  primary key (workspace_id, kind, subject_id),
  check (parked_at is null or leased_until is null)
);
create index work_by_due on work (due_at) where parked_at is null;

create function step_work() returns trigger language plpgsql as $$
begin
  if new.fence < old.fence then
    raise exception 'a fence is never lowered' using errcode = 'BK003';
  end if;
  return new;
end $$;
create trigger fenced before update on work for each row execute function step_work();

-- Put in front of a flight it makes the flight the claim's: who was overtaken, or slept past the lease, writes nothing.
create function hold_work(of_workspace bigint, of_kind text, of_subject bigint, under_fence bigint) returns void
  language plpgsql as $$
begin
  perform from work
  where workspace_id = of_workspace and kind = of_kind and subject_id = of_subject and fence = under_fence
    and leased_until > clock_timestamp()
  for update;
  if not found then
    raise exception 'the claim on % % is lost', of_kind, of_subject using errcode = 'BK005';
  end if;
end $$;

alter table payout enable row level security;
alter table payout force row level security;
create policy workspaces on payout
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));

-- Remittances so far were the demo world's: no rail of ours has them, and whatever is still said of them is recorded.
-- Row-level security binds this role too, and what is filled here is everybody's.
alter table remittance no force row level security;
alter table transaction no force row level security;
alter table payout no force row level security;
insert into payout (workspace_id, transaction_id, status)
select m.workspace_id, m.transaction_id, case x.status when 'pending' then 'submitted' when 'completed' then 'settled' else 'failed' end
from remittance m join transaction x on (x.workspace_id, x.id) = (m.workspace_id, m.transaction_id);
alter table remittance force row level security;
alter table transaction force row level security;
alter table payout force row level security;

grant select on payout to banking_app;
grant insert (workspace_id, transaction_id, status) on payout to banking_app;
grant update (status, tries, fence, reason, parked_at, updated_at) on payout to banking_app;
grant select, delete on work to banking_app;
grant insert (workspace_id, kind, subject_id, due_at) on work to banking_app;
grant update (due_at, leased_until, fence, tries, parked_at, reason) on work to banking_app;
