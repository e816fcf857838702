-- The trail of the directory is a chain of hashes as the audit trails are, and the beginning of an audit trail has a time: so both can be
-- compared with an anchor, and with the rows that they are about.
-- Phase: expand

alter table directory_change add column hash text;
-- Entries from before this migration have none. The chain begins after them.
alter table directory_change add constraint directory_change_hashed check (hash is not null) not valid;

-- What the hash of an entry covers, besides the hash before it.
create function directory_content(entry directory_change) returns jsonb
  language sql stable
  return jsonb_build_array(entry.id, rfc3339(entry.changed_at), entry.changed_by, entry.operating_system_user, entry.relation, entry.action,
    entry.record);

-- One database transaction after the other changes the directory: without the lock, two entries would follow the same one.
create function chain_directory_change() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  previous text;
begin
  if tg_relid <> 'banking.directory_change'::regclass or tg_op <> 'INSERT' then
    raise exception 'chain_directory_change runs before an INSERT into directory_change only' using errcode = 'BK013';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('banking.directory', 0));
  -- Drawn behind the lock, so that ids are in the order of the chain.
  new.id := nextval('directory_change_id_seq');
  select d.hash into previous from directory_change d order by d.id desc limit 1;
  new.hash := next_audit_hash(previous, repeat('0', 64), directory_content(new));
  return new;
end $$;

create trigger chained before insert on directory_change for each row execute function chain_directory_change();

-- Entries of the directory's trail after an id, and whether each is as its hash says. Row-level security hides some of them from callers.
create function directory_chain(after_id bigint, rows_max integer) returns table (id bigint, hash text, is_as_hashed boolean)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select d.id, d.hash,
    case when d.hash is null then p.hash is null else d.hash = next_audit_hash(p.hash, repeat('0', 64), directory_content(d)) end
  from directory_change d
    left join lateral (select l.hash from directory_change l where l.id < d.id order by l.id desc limit 1) p on true
  where d.id > after_id order by d.id limit rows_max
$$;
create function directory_head() returns table (id bigint, hash text)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select d.id, d.hash from (select * from directory_change order by id desc limit 1) d where d.hash is not null
$$;

-- The time of the last entry that was deleted because of its age.
alter table audit_head add column start_at timestamptz;
create or replace function delete_audit_events(kept_days integer, rows_max integer) returns integer
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  scope bigint[] := nullif(current_setting('app.workspaces', true), '')::bigint[];
  deleted integer;
begin
  if kept_days < 365 then
    raise exception 'entries of the audit trail are kept for a year' using errcode = 'BK003';
  end if;
  -- The lock of the recorder, because both change the ends of a chain.
  if not pg_try_advisory_xact_lock(hashtextextended('banking.audit', 0)) then
    return 0;
  end if;
  with oldest as (
    select e.workspace_id, e.id, e.hash, e.created_at,
           bool_and(e.created_at < statement_timestamp() - make_interval(days => kept_days))
             over (partition by e.workspace_id order by e.id) as is_old
    from unnest(scope) w (id) cross join lateral (
      select * from audit_event l where l.workspace_id = w.id order by l.workspace_id, l.id limit rows_max) e),
  gone as (
    delete from audit_event e using oldest o
    where o.is_old and e.workspace_id = o.workspace_id and e.id = o.id
    returning e.workspace_id, e.id, e.hash, e.created_at),
  started as (
    update audit_head h set start_id = g.id, start_hash = g.hash, start_at = greatest(h.start_at, g.latest)
    from (select distinct on (workspace_id) workspace_id, id, hash, max(created_at) over (partition by workspace_id) as latest
          from gone order by workspace_id, id desc) g
    where h.workspace_id = g.workspace_id)
  select count(*) into deleted from gone;
  return deleted;
end $$;

-- The verifier finds entries that are not recorded yet, and compares times.
grant select (workspace_id, entries) on audit_outbox to banking_app;
grant select (changed_at) on directory_change to banking_app;
revoke execute on function directory_content(directory_change), chain_directory_change(), directory_chain(bigint, integer),
  directory_head() from public;
grant execute on function directory_chain(bigint, integer), directory_head() to banking_app;
