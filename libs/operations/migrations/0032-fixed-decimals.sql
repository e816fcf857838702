-- The decimals of a currency say what every amount in it means, so they never change.

create function refuse_other_decimals() returns trigger language plpgsql as $$
begin
  raise exception 'the decimals of a currency never change' using errcode = 'BK016';
end $$;
create trigger fixed_decimals before update on currency for each row
  when (new.decimals is distinct from old.decimals) execute function refuse_other_decimals();
