-- The hash of a transaction gets a version and covers the order, the conversion and the recipients by their digests.

-- Transactions from before have version 1 and keep their hash. The version of a new one is not the app's to write.
alter table transaction add column hash_version smallint not null default 1;
alter table transaction alter column hash_version set default 2;
alter table transaction add column order_digest text, add column conversion_digest text;
alter table transfer add column recipient_digest text;
grant insert (order_digest, conversion_digest) on transaction to banking_app;
grant insert (recipient_digest) on transfer to banking_app;

-- `not valid` reads no existing rows. Transfers from before have a recipient without its digest, and a transfer never changes.
alter table transaction add constraint transaction_digests check (
  hash_version in (1, 2) and (hash_version = 2 or num_nonnulls(order_digest, conversion_digest) = 0)
  and order_digest ~ '^[0-9a-f]{64}$' and conversion_digest ~ '^[0-9a-f]{64}$') not valid;
alter table transfer add constraint transfer_recipient_digest check (
  (recipient_id is null) = (recipient_digest is null) and recipient_digest ~ '^[0-9a-f]{64}$') not valid;

-- As before, and the version and the digests never change either.
create or replace function step_transaction() returns trigger language plpgsql as $$
begin
  if (old.workspace_id, old.id, old.hash, old.value_date, old.return_of, old.created_at,
      old.hash_version, old.order_digest, old.conversion_digest)
     is distinct from (new.workspace_id, new.id, new.hash, new.value_date, new.return_of, new.created_at,
                       new.hash_version, new.order_digest, new.conversion_digest) then
    raise exception 'transaction is append-only but for its status' using errcode = 'BK003';
  end if;
  if old.status is distinct from new.status and (old.status <> 'pending' or new.status not in ('completed', 'failed')) then
    raise exception 'transaction cannot go from % to %', old.status, new.status using errcode = 'BK004';
  end if;
  return new;
end $$;
