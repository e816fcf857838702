-- Statistics of the planner for tables that autovacuum does not analyze in time: in a new installation, after the restore of a dump, and
-- after crashes of the server, which lose the counters by which autovacuum decides.

/**
 * Analyzes the next table, in the order of oids, that was not analyzed since the server began to count, or that has doubled since. An
 * empty table is left out: its statistics make worse plans than none. A table of a gigabyte is left to autovacuum: analyzing it may take
 * longer than a statement of the service may. A locked table is skipped.
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
    order by c.oid
  loop
    begin
      pages := pg_relation_size(candidate) / current_setting('block_size')::integer;
      if pages > 0 and pages < 131072 and
         (coalesce(pg_stat_get_last_analyze_time(candidate), pg_stat_get_last_autoanalyze_time(candidate)) is null
          or pages > 2 * analyzed_pages + 16) then
        execute format('analyze %s', candidate);
        return candidate;
      end if;
    exception when lock_not_available then
      -- The next pass tries it again.
      null;
    end;
  end loop;
  return null;
end $$;

revoke execute on function analyze_next_table(oid) from public;
grant execute on function analyze_next_table(oid) to banking_app;
