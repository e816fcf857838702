-- Free text holds no control, format or private-use characters. The program checks it where it enters; this is a second check.
--
-- Text from before stays, and rows that hold it can still be changed. Names and descriptions that are copied from such rows are not
-- checked again: an account takes the name of its workspace, a transfer the description of its order.

-- Code points instead of character classes, which depend on the locale of the database. No text holds U+0000 or a surrogate.
create function has_forbidden_character(content text) returns boolean
  language sql immutable parallel safe
  return content ~ (
    '[\u0001-\u001f\u007f-\u009f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e'
    '\u2060-\u2064\u2066-\u206f\ue000-\uf8ff\ufdd0-\ufdef\ufeff\ufff9-\ufffb\ufffe\uffff'
    '\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U0001fffe\U0001ffff'
    '\U0002fffe\U0002ffff\U0003fffe\U0003ffff\U0004fffe\U0004ffff\U0005fffe\U0005ffff\U0006fffe\U0006ffff\U0007fffe\U0007ffff'
    '\U0008fffe\U0008ffff\U0009fffe\U0009ffff\U000afffe\U000affff\U000bfffe\U000bffff\U000cfffe\U000cffff\U000dfffe\U000dffff'
    '\U000e0001\U000e0020-\U000e007f\U000efffe-\U0010ffff]');

-- The text of jsonb escapes quotation marks, backslashes and control characters, and nothing else.
create function has_forbidden_character(pairs jsonb) returns boolean
  language sql immutable parallel safe
  return has_forbidden_character(pairs::text) or pairs::text !~ '^([^\\]|\\["\\])*$';

create function refuse_forbidden_character() returns trigger language plpgsql as $$
begin
  raise exception 'text of % has a control, format or private-use character', tg_table_name using errcode = 'check_violation';
end $$;

create trigger free_text before insert on app for each row
  when (has_forbidden_character(new.name)) execute function refuse_forbidden_character();
create trigger free_text_changed before update of name on app for each row
  when (new.name is distinct from old.name and has_forbidden_character(new.name)) execute function refuse_forbidden_character();
create trigger free_text before insert on workspace for each row
  when (has_forbidden_character(new.name)) execute function refuse_forbidden_character();
create trigger free_text_changed before update of name on workspace for each row
  when (new.name is distinct from old.name and has_forbidden_character(new.name)) execute function refuse_forbidden_character();
create trigger free_text before insert on account for each row
  when (has_forbidden_character(new.alias)) execute function refuse_forbidden_character();
create trigger free_text_changed before update of alias on account for each row
  when (new.alias is distinct from old.alias and has_forbidden_character(new.alias)) execute function refuse_forbidden_character();
create trigger free_text before insert on recipient for each row
  when (has_forbidden_character(new.name) or has_forbidden_character(new.alias) or has_forbidden_character(new.account_code))
  execute function refuse_forbidden_character();
create trigger free_text_changed before update of alias on recipient for each row
  when (new.alias is distinct from old.alias and has_forbidden_character(new.alias)) execute function refuse_forbidden_character();
create trigger free_text before insert on beneficiary for each row
  when (has_forbidden_character(new.data)) execute function refuse_forbidden_character();
create trigger free_text before insert on customer_order for each row
  when (has_forbidden_character(new.description) or has_forbidden_character(new.external_reference)
        or has_forbidden_character(new.purpose_code) or has_forbidden_character(new.metadata))
  execute function refuse_forbidden_character();
create trigger free_text before update of note on discrepancy for each row
  when (has_forbidden_character(new.note)) execute function refuse_forbidden_character();

-- A transfer never changes, so that a constraint does not meet text from before. Control characters were never allowed.
alter table transfer add constraint transfer_description check (description !~ '[\u0001-\u001f\u007f-\u009f]') not valid;
