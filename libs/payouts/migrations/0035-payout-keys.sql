-- The key of a payout at the network contains a random part. After a restore to an earlier moment the sequences give ids that lost
-- transactions had: without the random part, a new payout would have the key of a lost one, and the network would repeat that payment.

-- Payouts from before this migration have none and keep their keys, which the network knows.
alter table payout add column key_nonce text;
-- 48 random bits of a version 4 UUID. The service has no right to write the column.
alter table payout alter column key_nonce set default right(gen_random_uuid()::text, 12);

create or replace function step_payout() returns trigger language plpgsql as $$
begin
  if (old.workspace_id, old.transaction_id, old.key_nonce, old.created_at)
     is distinct from (new.workspace_id, new.transaction_id, new.key_nonce, new.created_at)
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
