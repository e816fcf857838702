-- Statistics of the planner for tables that autovacuum does not analyze in time: in a new installation, after the restore of a dump, and
-- after crashes of the server, which lose the counters by which autovacuum decides.

/**
 * Analyzes the next table that was not analyzed since the server began to count, or that has doubled since. An empty table is left out:
 * its statistics make worse plans than none. A table of a gigabyte is left to autovacuum: analyzing it may take longer than a statement
 * of the service may.
 *
 * Returns its name. Returns null if there is none, on a read-only server, and while another session analyzes.
 */
create function analyze_next_table() returns text
  language plpgsql security definer set search_path = banking, pg_temp as $$
declare
  due regclass;
begin
  if current_setting('transaction_read_only')::boolean or not current_setting('track_counts')::boolean then
    return null;
  end if;
  if not pg_try_advisory_xact_lock(hashtextextended('banking.statistics', 0)) then
    return null;
  end if;
  select oid into due
  from (select c.oid, c.relpages, pg_relation_size(c.oid) / current_setting('block_size')::integer as pages from pg_class c
        where c.relnamespace = 'banking'::regnamespace and c.relkind = 'r') t
  where pages > 0 and pages < 131072
    and (coalesce(pg_stat_get_last_analyze_time(oid), pg_stat_get_last_autoanalyze_time(oid)) is null or pages > 2 * relpages + 16)
  order by oid
  limit 1;
  if due is not null then
    execute format('analyze %s', due);
  end if;
  return due;
end $$;

revoke execute on function analyze_next_table() from public;
grant execute on function analyze_next_table() to banking_app;
