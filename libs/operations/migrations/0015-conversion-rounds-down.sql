-- A conversion never pays out more than it takes in: what arrives is rounded down, and the database does the sum again.

-- A rate has fifteen significant digits at most. Quotes and conversions of before were rounded half to even and stay as they were written: `not valid` checks new rows only.
alter table quote
  drop constraint quote_rounding_check,
  drop constraint quote_check4,
  add constraint quote_rounds_down check (
    rounding = 'down' and remainder_numerator >= 0 and remainder_numerator < remainder_denominator
    and char_length(ltrim(replace(rate, '.', ''), '0')) <= 15) not valid;
alter table conversion
  drop constraint conversion_rounding_check,
  drop constraint conversion_check1,
  add constraint conversion_rounds_down check (
    rounding = 'down' and remainder_numerator >= 0 and remainder_numerator < remainder_denominator
    and char_length(ltrim(replace(rate, '.', ''), '0')) <= 15) not valid;

-- As prove_quote: what arrives and what was left over are the amount at the rate, exactly.
create function prove_conversion() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
declare
  source_decimals integer := (select decimals from currency where id = new.source_currency_id);
  target_decimals integer := (select decimals from currency where id = new.target_currency_id);
begin
  if (new.target_amount * new.remainder_denominator + new.remainder_numerator) * power(10::numeric, source_decimals)
     is distinct from
     new.source_amount * new.rate::numeric * power(10::numeric, target_decimals) * new.remainder_denominator then
    raise exception 'a conversion is not its amount at its rate' using errcode = 'BK006';
  end if;
  return null;
end $$;
create trigger proven after insert on conversion for each row execute function prove_conversion();

-- A quote that was rounded half to even may promise more than is paid in, so no order is placed at it any more. It expires by the time
-- the database transaction began: what the service has read behind its locks still holds when the row is inserted.
create or replace function prove_quote_use() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
declare
  promised quote;
  ordered customer_order;
begin
  select * into promised from quote where workspace_id = new.workspace_id and id = new.quote_id;
  select * into ordered from customer_order where workspace_id = new.workspace_id and id = new.order_id;
  if promised.expires_at <= now() or promised.rounding <> 'down' then
    raise exception 'the quote has expired' using errcode = 'BK007';
  end if;
  if (ordered.account_id, ordered.amount, ordered.recipient_id)
     is distinct from (promised.account_id, promised.amount, coalesce(promised.recipient_id, ordered.recipient_id)) then
    raise exception 'the quote is of another payment' using errcode = 'BK007';
  end if;
  return null;
end $$;
