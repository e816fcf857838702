-- A quote may fix what arrives instead of what leaves.

-- Which amount the caller fixed. `source`: what arrives is rounded down, so less than one minor unit of the target currency is left
-- over. `target`: exactly what was asked for arrives, and what leaves is the smallest amount that covers it, so less is left over than
-- one minor unit of the source currency is worth. In both cases the remainder stays on the fx account of the workspace.
alter table quote add column fixed_side text not null default 'source' check (fixed_side in ('source', 'target'));
alter table conversion add column fixed_side text not null default 'source' check (fixed_side in ('source', 'target'));

-- Rows that were rounded half to even stay as they were written: `not valid` checks new rows only.
alter table quote
  drop constraint quote_rounds_down,
  add constraint quote_rounds_down check (
    rounding = 'down' and remainder_numerator >= 0 and (fixed_side = 'target' or remainder_numerator < remainder_denominator)
    and char_length(ltrim(replace(rate, '.', ''), '0')) <= 15) not valid;
alter table conversion
  drop constraint conversion_rounds_down,
  add constraint conversion_rounds_down check (
    rounding = 'down' and remainder_numerator >= 0 and (fixed_side = 'target' or remainder_numerator < remainder_denominator)
    and char_length(ltrim(replace(rate, '.', ''), '0')) <= 15) not valid;

-- What arrives and what is left over are the source amount at the rate, exactly. If the caller fixed what arrives, a source amount that
-- is smaller by one minor unit would not cover it.
create or replace function prove_quote() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
declare
  source_scale numeric := (select power(10::numeric, decimals) from currency where id = new.currency_id);
  target_scale numeric := (select power(10::numeric, decimals) from currency where id = new.target_currency_id);
begin
  if (new.target_amount * new.remainder_denominator + new.remainder_numerator) * source_scale
     is distinct from new.amount * new.rate::numeric * target_scale * new.remainder_denominator then
    raise exception 'a quote is not its amount at its rate' using errcode = 'BK006';
  end if;
  if new.fixed_side = 'target'
     and new.remainder_numerator * source_scale >= new.rate::numeric * target_scale * new.remainder_denominator then
    raise exception 'a quote takes more than its target amount needs' using errcode = 'BK006';
  end if;
  if new.created_at is distinct from statement_timestamp() then
    raise exception 'a quote is given now' using errcode = 'BK006';
  end if;
  return null;
end $$;

create or replace function prove_conversion() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
declare
  source_scale numeric := (select power(10::numeric, decimals) from currency where id = new.source_currency_id);
  target_scale numeric := (select power(10::numeric, decimals) from currency where id = new.target_currency_id);
begin
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
