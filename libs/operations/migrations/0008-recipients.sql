-- Recipients as their payers keep and forget them: the corridor an international one was made for, and what may never change.

alter table corridor add constraint corridor_arrives unique (id, destination_currency_id);

-- Country, payout method and kind of beneficiary are the corridor's; it stays, also when it is closed.
alter table recipient add column corridor_id bigint;

-- So far the demo world alone has made any. Row-level security binds this role too, and what is filled here is everybody's.
alter table recipient no force row level security;
alter table beneficiary no force row level security;
update recipient r set corridor_id = (
  select k.id
  from beneficiary n
  join corridor k on k.destination_country = n.data ->> 'destinationCountry'
                 and k.beneficiary_account_type = n.data ->> 'beneficiaryAccountType'
                 and k.destination_currency_id = r.currency_id
  where n.workspace_id = r.workspace_id and n.recipient_id = r.id
  order by k.routing_code_type = n.data ->> 'routingCodeType1' desc, k.payout_method, k.id
  limit 1)
where kind = 'international';
alter table recipient force row level security;
alter table beneficiary force row level security;

alter table recipient add constraint recipient_kind check ((kind = 'international') = (corridor_id is not null));
-- With the currency, so that the two cannot disagree.
alter table recipient add constraint recipient_corridor
  foreign key (corridor_id, currency_id) references corridor (id, destination_currency_id);
alter table recipient add constraint recipient_texts check (
  char_length(name) between 1 and 140 and char_length(account_code) between 1 and 140 and char_length(alias) between 1 and 140);
alter table beneficiary add constraint beneficiary_fields check (
  jsonb_typeof(data) = 'object'
  and data - array['beneficiaryName', 'beneficiaryAddress', 'destinationCountry', 'beneficiaryAccountType',
                   'beneficiaryCountryCode', 'beneficiaryAccountNumber', 'routingCodeType1', 'routingCodeValue1'] = '{}');

create index recipient_by_time on recipient (workspace_id, created_at desc, id desc) where forgotten_at is null;

create trigger forgotten_for_good before update on recipient for each row
  when (old.forgotten_at is not null) execute function refuse_change();
