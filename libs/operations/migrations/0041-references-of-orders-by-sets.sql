-- References of orders, and of transfers to recipients, are checked with one query a statement, as those of transfers to the books.

-- In the order in which an order locks them, so that the migration and an order wait for each other and do not deadlock.
lock table account, recipient, currency, transfer, customer_order, conversion in access exclusive mode;

alter table transfer drop constraint transfer_recipient;
alter table customer_order drop constraint customer_order_account, drop constraint customer_order_recipient;
-- `prove_conversion` below rejects a conversion of a currency that does not exist.
alter table conversion drop constraint conversion_source, drop constraint conversion_target;

create function require_recipient_of_transfer() returns trigger
  language plpgsql set search_path = banking, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  if exists (
    select from (select distinct workspace_id, recipient_id from fresh where recipient_id is not null) f
    where (
      select r.id from recipient r
      where r.workspace_id = f.workspace_id and r.id >= f.recipient_id and r.id <= f.recipient_id order by r.id limit 1) is null) then
    raise exception 'a transfer needs a recipient of its workspace'
      using errcode = 'foreign_key_violation', table = 'transfer', constraint = 'transfer_recipient';
  end if;
  return null;
end $$;
create trigger recipient_exists after insert on transfer
  referencing new table as fresh for each statement execute function require_recipient_of_transfer();

create function require_references_of_order() returns trigger
  language plpgsql set search_path = banking, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  if exists (
    select from (select distinct workspace_id, account_id from fresh) f
    where (
      select a.id from account a
      where a.workspace_id = f.workspace_id and a.id >= f.account_id and a.id <= f.account_id order by a.id limit 1) is null) then
    raise exception 'an order needs an account of its workspace'
      using errcode = 'foreign_key_violation', table = 'customer_order', constraint = 'customer_order_account';
  end if;
  if exists (
    select from (select distinct workspace_id, recipient_id from fresh) f
    where (
      select r.id from recipient r
      where r.workspace_id = f.workspace_id and r.id >= f.recipient_id and r.id <= f.recipient_id order by r.id limit 1) is null) then
    raise exception 'an order needs a recipient of its workspace'
      using errcode = 'foreign_key_violation', table = 'customer_order', constraint = 'customer_order_recipient';
  end if;
  return null;
end $$;
create trigger references_exist after insert on customer_order
  referencing new table as fresh for each statement execute function require_references_of_order();

-- A row that others refer to is never deleted and keeps its key, for every role. An order keeps its account and its recipient.
create trigger append_only before delete on recipient for each row execute function refuse_change();
create trigger append_only_truncate before truncate on recipient for each statement execute function refuse_change();
create trigger append_only before delete on currency for each row execute function refuse_change();
create trigger append_only_truncate before truncate on currency for each statement execute function refuse_change();
create trigger fixed_key before update of workspace_id, id on recipient for each row
  when ((old.workspace_id, old.id) is distinct from (new.workspace_id, new.id)) execute function refuse_change();
create trigger fixed_key before update of id on currency for each row
  when (old.id is distinct from new.id) execute function refuse_change();
create trigger fixed_references before update of workspace_id, id, account_id, recipient_id on customer_order for each row
  when ((old.workspace_id, old.id, old.account_id, old.recipient_id)
        is distinct from (new.workspace_id, new.id, new.account_id, new.recipient_id)) execute function refuse_change();

-- As before, and it rejects a currency that does not exist.
create or replace function prove_conversion() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
declare
  source_scale numeric := (select power(10::numeric, decimals) from currency where id = new.source_currency_id);
  target_scale numeric := (select power(10::numeric, decimals) from currency where id = new.target_currency_id);
begin
  if source_scale is null or target_scale is null then
    raise exception 'a conversion needs two currencies'
      using errcode = 'foreign_key_violation', table = 'conversion',
            constraint = case when source_scale is null then 'conversion_source' else 'conversion_target' end;
  end if;
  if (new.target_amount * new.remainder_denominator + new.remainder_numerator) * source_scale
     is distinct from new.source_amount * new.rate::numeric * target_scale * new.remainder_denominator then
    raise exception 'a conversion is not its amount at its rate' using errcode = 'BK006';
  end if;
  if new.fixed_side = 'target'
     and new.remainder_numerator * source_scale >= new.rate::numeric * target_scale * new.remainder_denominator then
    raise exception 'a conversion takes more than its target amount needs' using errcode = 'BK006';
  end if;
  return null;
end $$;
