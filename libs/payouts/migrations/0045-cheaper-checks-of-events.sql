-- An event without a final status contradicts no final status, so its check does not read the transaction.

-- As before: a contradiction with the status of the transaction is possible for `RJCT` and `ACCC` only.
create or replace function require_discrepancy() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
declare
  paid_out_id bigint;
  paid_out_status text;
begin
  if new.status in ('RJCT', 'ACCC') then
    select x.id, x.status into paid_out_id, paid_out_status
    from remittance m join transaction x on (x.workspace_id, x.id) = (m.workspace_id, m.transaction_id)
    where m.workspace_id = new.workspace_id and m.id = new.remittance_id;
    if (paid_out_status, new.status) in (('completed', 'RJCT'), ('failed', 'ACCC'))
       and not exists (
         select from discrepancy d
         where d.workspace_id = new.workspace_id and d.transaction_id = paid_out_id
           and (d.resolution_transaction_id is not null
             or d.kind = case new.status when 'RJCT' then 'credited_then_rejected' else 'rejected_then_credited' end)) then
      raise exception 'a contradictory event needs its discrepancy' using errcode = 'BK010';
    end if;
  end if;
  if exists (
       select from remittance_event e
       where e.workspace_id = new.workspace_id and e.remittance_id = new.remittance_id
         and e.provider_event = new.provider_event and e.status <> new.status)
     and not exists (
       select from remittance m join discrepancy d on (d.workspace_id, d.transaction_id) = (m.workspace_id, m.transaction_id)
       where m.workspace_id = new.workspace_id and m.id = new.remittance_id and d.kind = 'event_reused') then
    raise exception 'a contradictory event needs its discrepancy' using errcode = 'BK010';
  end if;
  return null;
end $$;
