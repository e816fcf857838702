-- Payments between cells. A crossing is the payer's half: a pending transaction that credits `interworkspace`. An arrival is the payee's
-- half, in the database of the payee: accepted with a completed transaction that debits `interworkspace`, or refused without one.
-- In each database and currency, the `interworkspace` accounts of all workspaces sum to its crossings that are not returned, less its
-- accepted arrivals. Over all cells this sum is that of the crossings that have not arrived yet.
-- Phase: expand

create table crossing (
  workspace_id bigint not null,
  transaction_id bigint not null,
  -- 48 random bits. After a restore to an earlier moment the sequences give ids again: without them, a new crossing would have the arrival
  -- of a lost one. The service has no right to write the column.
  key_nonce text not null default right(gen_random_uuid()::text, 12) check (key_nonce ~ '^[0-9a-f]{12}$'),
  -- Of the account that is paid.
  account_code text not null,
  currency_id integer not null,
  -- In minor units, after a conversion and without the fee.
  amount bigint not null check (amount > 0),
  status text not null default 'due' check (status in ('due', 'completed', 'returned')),
  created_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, transaction_id)
);

-- `workspace_id` is that of the payee. The key makes a call that is repeated one arrival.
create table arrival (
  workspace_id bigint not null,
  origin_workspace_id bigint not null,
  origin_transaction_id bigint not null,
  key_nonce text not null check (key_nonce ~ '^[0-9a-f]{12}$'),
  account_code text not null,
  currency_id integer not null,
  amount bigint not null check (amount > 0),
  outcome text not null check (outcome in ('accepted', 'refused')),
  -- The payee's half.
  transaction_id bigint,
  created_at timestamptz not null default statement_timestamp(),
  primary key (workspace_id, origin_workspace_id, origin_transaction_id, key_nonce),
  -- A transaction is the half of one crossing.
  unique (workspace_id, transaction_id),
  check ((outcome = 'accepted') = (transaction_id is not null))
);

create function step_crossing() returns trigger language plpgsql as $$
begin
  if (old.workspace_id, old.transaction_id, old.key_nonce, old.account_code, old.currency_id, old.amount, old.created_at)
     is distinct from (new.workspace_id, new.transaction_id, new.key_nonce, new.account_code, new.currency_id, new.amount, new.created_at) then
    raise exception 'crossing is append-only but for its status' using errcode = 'BK003';
  end if;
  if old.status <> new.status and (old.status <> 'due' or new.status not in ('completed', 'returned')) then
    raise exception 'crossing cannot go from % to %', old.status, new.status using errcode = 'BK004';
  end if;
  return new;
end $$;
create trigger legal_step before update on crossing for each row execute function step_crossing();
create trigger append_only before delete on crossing for each row execute function refuse_change();
create trigger append_only_truncate before truncate on crossing for each statement execute function refuse_change();
create trigger append_only before update or delete on arrival for each row execute function refuse_change();
create trigger append_only_truncate before truncate on arrival for each statement execute function refuse_change();

-- At commit, because the transaction is written before its crossing and takes its step after it.
create function require_transaction_of_crossing() returns trigger
  language plpgsql set search_path = banking, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if not exists (
    select from crossing c join transaction x on x.workspace_id = c.workspace_id and x.id = c.transaction_id
    where c.workspace_id = new.workspace_id and c.transaction_id = new.transaction_id
      and x.status = case c.status when 'due' then 'pending' when 'completed' then 'completed' else 'failed' end
      and (c.status <> 'returned'
        or exists (select from transaction r where r.workspace_id = c.workspace_id and r.return_of = c.transaction_id))
      and exists (
        select from transfer t join account a on a.workspace_id = t.workspace_id and a.id = t.account_id
        where t.workspace_id = c.workspace_id and t.transaction_id = c.transaction_id
          and a.kind = 'interworkspace' and t.direction = 'credit' and t.amount = c.amount and t.currency_id = c.currency_id)) then
    raise exception 'a crossing needs its transaction, with its amount and its status' using errcode = 'BK019';
  end if;
  return null;
end $$;
create constraint trigger has_transaction after insert or update on crossing
  deferrable initially deferred for each row execute function require_transaction_of_crossing();

-- A payment within one database is completed at once, so a credit of `interworkspace` that is pending goes to another. The condition of
-- the trigger leaves out the rows of customers and of payouts without a conversion, which are most.
create function require_crossing() returns trigger
  language plpgsql set search_path = banking, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if exists (
       select from account a where a.workspace_id = new.workspace_id and a.id = new.account_id and a.kind = 'interworkspace')
     and exists (
       select from transaction x where x.workspace_id = new.workspace_id and x.id = new.transaction_id and x.status = 'pending')
     and not exists (
       select from crossing c where c.workspace_id = new.workspace_id and c.transaction_id = new.transaction_id) then
    raise exception 'a pending payment to another workspace needs its crossing' using errcode = 'BK019';
  end if;
  return null;
end $$;
create constraint trigger crosses after insert on transfer
  deferrable initially deferred for each row
  when (new.account_version is null and new.direction = 'credit' and new.type in ('internal', 'spot')) execute function require_crossing();

-- As before, and a crossing has taken its step before its transaction takes it. The failure names no reason of the payee's account.
create or replace function follow_transaction() returns trigger
  language plpgsql set search_path = banking, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  if exists (
    select from stepped n join crossing c on c.workspace_id = n.workspace_id and c.transaction_id = n.id
    where c.status <> case n.status when 'pending' then 'due' when 'completed' then 'completed' else 'returned' end) then
    raise exception 'a crossing ends with its transaction' using errcode = 'BK019';
  end if;
  update execution e set status = n.status,
    failure_code = case when n.status = 'failed' then 'payout_rejected' end,
    failure_message = case when n.status = 'failed' then
      case when exists (select from crossing c where c.workspace_id = n.workspace_id and c.transaction_id = n.id)
        then 'The account of the recipient takes no such payment, and the money has come back.'
        else 'The payout was rejected, and the money has come back.' end end
  from stepped n
  where n.status <> 'pending'
    and e.workspace_id = n.workspace_id and e.transaction_id = n.id and e.status = 'pending';
  return null;
end $$;

create function require_transaction_of_arrival() returns trigger
  language plpgsql set search_path = banking, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if not exists (
    select from transaction x
    where x.workspace_id = new.workspace_id and x.id = new.transaction_id and x.status = 'completed'
      and exists (
        select from account_code k join transfer t on t.workspace_id = k.workspace_id and t.account_id = k.account_id
        where k.code = new.account_code and k.workspace_id = new.workspace_id and t.transaction_id = x.id
          and t.direction = 'credit' and t.amount = new.amount and t.currency_id = new.currency_id)
      and exists (
        select from transfer t join account a on a.workspace_id = t.workspace_id and a.id = t.account_id
        where t.workspace_id = new.workspace_id and t.transaction_id = x.id
          and a.kind = 'interworkspace' and t.direction = 'debit' and t.amount = new.amount and t.currency_id = new.currency_id)) then
    raise exception 'an accepted arrival needs its transaction, with its amount on its account' using errcode = 'BK020';
  end if;
  return null;
end $$;
create constraint trigger has_transaction after insert on arrival
  deferrable initially deferred for each row when (new.outcome = 'accepted') execute function require_transaction_of_arrival();

alter table crossing enable row level security;
alter table crossing force row level security;
create policy workspaces on crossing
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));
alter table arrival enable row level security;
alter table arrival force row level security;
create policy workspaces on arrival
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));

revoke execute on function step_crossing(), require_transaction_of_crossing(), require_crossing(), require_transaction_of_arrival() from public;
grant select, insert (workspace_id, transaction_id, account_code, currency_id, amount), update (status) on crossing to banking_app;
grant select, insert (workspace_id, origin_workspace_id, origin_transaction_id, key_nonce, account_code, currency_id, amount, outcome,
  transaction_id) on arrival to banking_app;
