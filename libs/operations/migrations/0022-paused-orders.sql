-- A recurring order pauses after three rejected payouts in a row, so that a closed account does not cost a fee for ever.

alter table customer_order add column paused_at timestamptz;
alter table customer_order add column pause_reason text;
-- Rejections up to this time do not pause the order again.
alter table customer_order add column resumed_at timestamptz;
alter table customer_order add constraint customer_order_pause check (
  (paused_at is null) = (pause_reason is null) and pause_reason in ('payouts_rejected')
  and (paused_at is null or status = 'active' and type = 'recurring'));
grant update (paused_at, pause_reason, resumed_at) on customer_order to banking_app;

-- Runs that are still pending and runs that were refused are left out; a completed one ends the row.
create function rejected_three_in_a_row(of_workspace bigint, of_order bigint, since timestamptz) returns boolean
  language sql stable set search_path = banking, pg_temp
  return (
    select count(*) = 3 from (
      select e.status, x.updated_at
      from execution e join transaction x on (x.workspace_id, x.id) = (e.workspace_id, e.transaction_id)
      where e.workspace_id = of_workspace and e.order_id = of_order and e.status in ('completed', 'failed')
      order by e.sequence desc limit 3) final
    where final.status = 'failed' and (since is null or final.updated_at > since));

-- A rejection locks the account before it fails its run, and so does a run before it is written: the later of the two sees the earlier.
create or replace function step_execution() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if old.status <> new.status and (old.status, new.status) not in
     (('scheduled', 'pending'), ('scheduled', 'completed'), ('scheduled', 'failed'), ('scheduled', 'cancelled'),
      ('pending', 'completed'), ('pending', 'failed')) then
    raise exception 'an execution does not step from % to %', old.status, new.status using errcode = 'BK004';
  end if;
  if old.transaction_id is not null and old.transaction_id is distinct from new.transaction_id then
    raise exception 'an execution keeps its transaction' using errcode = 'BK004';
  end if;
  if old.status = 'scheduled' and new.status in ('pending', 'completed', 'failed') and exists (
    select from customer_order o
    where o.workspace_id = new.workspace_id and o.id = new.order_id
      and (o.paused_at is not null or rejected_three_in_a_row(o.workspace_id, o.id, o.resumed_at))) then
    raise exception 'a paused order does not run' using errcode = 'BK012';
  end if;
  return new;
end $$;
