-- What every part needs: rules of records and texts, the mode of the deployment, its databases, statistics of the planner.

-- No function is for everyone. Functions of triggers are executed by no role.
alter default privileges revoke execute on functions from public;

-- Instants leave the database as RFC 3339 in UTC with microseconds.
create function rfc3339(instant timestamptz) returns text
  language sql stable parallel safe
  return to_char(instant at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');

-- Records of the books are never edited or removed: a correction is a new transaction.
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'BK003';
end $$;
create function refuse_step() returns trigger language plpgsql as $$
begin
  raise exception '% does not take this step', tg_table_name using errcode = 'BK004';
end $$;

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

-- In any text of JSON. Escapes of other characters than quotation marks and backslashes are refused: they hide a character.
create function has_forbidden_character(content json) returns boolean
  language sql immutable parallel safe
  return has_forbidden_character(content::text) or content::text !~ '^([^\\]|\\["\\])*$';

-- The text of jsonb escapes quotation marks, backslashes and control characters, and nothing else.
create function has_forbidden_character(pairs jsonb) returns boolean
  language sql immutable parallel safe
  return has_forbidden_character(pairs::text::json);

create function refuse_forbidden_character() returns trigger language plpgsql as $$
begin
  raise exception 'text of % has a control, format or private-use character', tg_table_name using errcode = 'check_violation';
end $$;

-- The operator of a database transaction: the login of its session, which no caller chooses. Commands on the embedded server share a login;
-- there it is their account of the operating system.
create function operator_name() returns text
  language sql stable
  return case session_user when 'banking_command_login'
    then coalesce(left(nullif(current_setting('app.operating_system_user', true), ''), 200), session_user) else session_user end;

-- What hashes cover of personal texts: SHA-256 over a JSON array of the salt in hex and the texts. A salt is random (122 bits) and is erased
-- with its texts: without it, no guess of them can be compared with the digest. The text of the array is that of RFC 8785. Null without a
-- salt. Stable and not strict, so that PostgreSQL inlines it: a call takes 1.1 µs instead of 2.6 µs, and an order has three.
create function salted_digest(salt bytea, texts text[]) returns bytea
  language sql stable parallel safe
  return case when salt is not null then sha256(convert_to(array_to_json(array[encode(salt, 'hex')] || texts)::text, 'UTF8')) end;

-- Whether this database holds demo money (a sandbox) or real money. Written once, with the table, and never changed.
create table deployment_mode (
  -- At most one row.
  id boolean primary key default true check (id),
  is_sandbox boolean not null,
  created_at timestamptz not null default now()
);

do $$
declare
  setting text not null := current_setting('banking.sandbox');
begin
  if setting not in ('on', 'off') then
    raise exception 'banking.sandbox must be on or off' using errcode = '22023';
  end if;
  insert into deployment_mode (is_sandbox) values (setting = 'on');
end $$;

-- Here, because a process that starts while another one migrates a new database compares the mode already.
grant select on deployment_mode to banking_api, banking_worker, banking_verifier, banking_operator, banking_provisioning;

-- What only a sandbox may write: moved clocks, payments of the sandbox network, the demo world.
create function require_sandbox() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if not exists (select from deployment_mode where is_sandbox) then
    raise exception '% is written in a sandbox only', tg_table_name using errcode = 'BK015';
  end if;
  return new;
end $$;

create table demo_step (
  name text primary key,
  id bigint not null,
  made_at timestamptz not null default now()
);

-- Drawn once for a deployment, so that a cursor of one process is good in every other.
create table seal (
  name text primary key,
  key bytea not null check (length(key) = 32)
);

insert into seal (name, key)
values ('cursor', decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));

-- Which cell this database is. Cell 0 is home: it also has the directory and the places. Every sequence gives ids of this remainder by 64.
create table cell_identity (
  -- At most one row.
  id boolean primary key default true check (id),
  number integer not null check (number between 0 and 63),
  name text not null check (name ~ '^[a-z][a-z0-9-]{0,30}$'),
  created_at timestamptz not null default now(),
  check ((number = 0) = (name = 'home'))
);

-- The cells of the deployment. Written at home. The other cells have copies.
create table cell (
  number integer check (number between 0 and 63) primary key,
  name text not null unique,
  created_at timestamptz not null default now()
);

-- Copies are written by replication, which does not run these triggers.
create function require_home() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if exists (select from cell_identity where number <> 0) then
    raise exception '% is written at home only', tg_table_name using errcode = 'BK018';
  end if;
  return null;
end $$;

-- Below all keys that are positive, which leaves those to other locks.
create function workspace_lock_key(workspace_id bigint) returns bigint
  language sql immutable parallel safe
  return -4611686018427387904 + workspace_id;

/**
 * Analyzes the next table, in the order of oids, that was not analyzed since the server began to count, or that has doubled since. An
 * empty table is left out: its statistics make worse plans than none. A table of a gigabyte is left to autovacuum: analyzing it may take
 * longer than a statement of the service may. A locked table is skipped.
 *
 * A vacuum between the growth and the analysis has already counted the rows and pages. The size says nothing then; the number of changes
 * does, in a table that grows: not in a queue, nor in one whose rows are updated all the time. And sessions keep their plans unless the
 * row of the table in `pg_class` changes, which is why it is written: by an option that no table has.
 *
 * Returns its oid. Returns null if there is none, on a read-only server, and while another session analyzes.
 */
create function analyze_next_table(after oid) returns oid
  language plpgsql security definer set search_path = banking, pg_temp set lock_timeout = '50ms' as $$
declare
  candidate regclass;
  analyzed_pages integer;
  pages bigint;
begin
  if current_setting('transaction_read_only')::boolean or not current_setting('track_counts')::boolean then
    return null;
  end if;
  if not pg_try_advisory_xact_lock(hashtextextended('banking.statistics', 0)) then
    return null;
  end if;
  for candidate, analyzed_pages in
    select c.oid, c.relpages from pg_class c
    where c.relnamespace = 'banking'::regnamespace and c.relkind = 'r' and c.oid > after
      and pg_get_userbyid(c.relowner) = current_user
    order by c.oid
  loop
    begin
      pages := pg_relation_size(candidate) / current_setting('block_size')::integer;
      if pages > 0 and pages < 131072 and
         (coalesce(pg_stat_get_last_analyze_time(candidate), pg_stat_get_last_autoanalyze_time(candidate)) is null
          or pages > 2 * analyzed_pages + 16
          or (pg_stat_get_live_tuples(candidate) >= 1000
              and pg_stat_get_mod_since_analyze(candidate) > pg_stat_get_live_tuples(candidate) / 2
              and 2 * pg_stat_get_tuples_deleted(candidate) < pg_stat_get_tuples_inserted(candidate)
              and pg_stat_get_tuples_updated(candidate) < 4 * pg_stat_get_tuples_inserted(candidate))) then
        execute format('analyze %s', candidate);
        execute format('alter table %s reset (parallel_workers)', candidate);
        return candidate;
      end if;
    exception when lock_not_available then
      -- The next pass tries it again.
      null;
    end;
  end loop;
  return null;
end $$;
