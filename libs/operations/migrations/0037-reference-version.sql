-- The version of the reference data. A process keeps currencies, products and banks in memory, and reads them again after a change.

create table reference_version (
  is_current boolean primary key default true check (is_current),
  version bigint not null default 1
);
insert into reference_version default values;
grant select on reference_version to banking_app;

create function change_reference_version() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid not in ('banking.currency'::regclass, 'banking.product'::regclass, 'banking.bank'::regclass) then
    raise exception 'change_reference_version runs for reference tables only' using errcode = 'BK013';
  end if;
  update reference_version set version = version + 1;
  return null;
end $$;

create trigger currency_version after insert or update or delete on currency
  for each row execute function change_reference_version();
create trigger product_version after insert or update or delete on product
  for each row execute function change_reference_version();
create trigger bank_version after insert or update or delete on bank
  for each row execute function change_reference_version();

revoke execute on function change_reference_version() from public;
