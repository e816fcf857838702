-- References of orders, and of transfers to recipients, are checked with one query a statement, as those of transfers to the books.

-- In the order in which an order locks them, so that the migration and an order wait for each other and do not deadlock.
lock table account, recipient, currency, transfer, customer_order, conversion in access exclusive mode;

alter table transfer drop constraint transfer_recipient;
alter table customer_order drop constraint customer_order_account, drop constraint customer_order_recipient;
-- `prove_conversion` rejects a conversion of a currency that does not exist: it has no decimals.
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
