-- Expired keys are deleted over all workspaces, in the order of their age. A scope of all workspaces would take a lock for each: with some
-- thousands of them, the server has no memory left for the locks of others.
-- Phase: expand

-- For the owner alone: it finds and deletes what has expired, whose ever it is.
create policy expired on idempotency to banking_owner
  using (created_at <= statement_timestamp() - interval '30 days') with check (false);

-- Reads the oldest expired keys from a time on, and deletes them. Keys that are locked are skipped, because a posting replaces them. Those
-- of a workspace that is not served here are not read: it keeps its rows as they are, in both cells, and some keep them for long.
create function delete_expired_keys(keys_max integer, after_time timestamptz,
  out keys_read integer, out deleted integer, out last_time timestamptz)
  language plpgsql security definer set search_path = banking, pg_temp
  -- The index by age, also for a small table or without statistics.
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_custom_plan as $$
declare
  is_cell boolean := exists (select from cell_identity);
  places tid[];
  owners bigint[];
  served bigint[];
begin
  select array_agg(e.place), array_agg(e.workspace_id), count(*), max(e.created_at)
  into places, owners, keys_read, last_time
  from (
    select i.ctid as place, i.workspace_id, i.created_at
    from idempotency i
    where i.created_at >= after_time and i.created_at <= statement_timestamp() - interval '30 days'
      and (not is_cell or exists (select from cell_workspace c where c.workspace_id = i.workspace_id and c.state = 'open'))
    order by i.created_at limit keys_max
    for update skip locked) e;
  -- One that is being closed has its lock taken, and is left for later. The state is read behind the lock, which is that of a scope.
  served := array(select w.id from (select distinct unnest(owners)) w (id) where pg_try_advisory_xact_lock_shared(workspace_lock_key(w.id)));
  if is_cell then
    served := array(select c.workspace_id from cell_workspace c where c.workspace_id = any (served) and c.state = 'open');
  end if;
  delete from idempotency
  where ctid = any (array(select k.place from unnest(places, owners) k (place, owner) where k.owner = any (served)));
  get diagnostics deleted = row_count;
end $$;
revoke execute on function delete_expired_keys(integer, timestamptz) from public;
grant execute on function delete_expired_keys(integer, timestamptz) to banking_app;
