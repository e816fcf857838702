-- An order for later runs only while the user who placed it has a role in the workspace. Otherwise it is paused when a run falls due.

-- Only a completed user has roles.
create function has_role(of_user bigint, in_workspace bigint) returns boolean
  language sql stable set search_path = banking, pg_temp
  return exists (
    select from app_user u join workspace_role r on r.user_id = u.id
    where u.id = of_user and u.status = 'completed' and r.workspace_id = in_workspace);

-- Why the next run of an order has to wait; null if it does not. An order whose placer is not known belongs to the deployment itself.
create function pause_required(of_workspace bigint, of_order bigint) returns text
  language sql stable set search_path = banking, pg_temp
  return (
    select case
      when o.placed_by is not null and not has_role(o.placed_by, o.workspace_id) then 'placer_without_role'
      when rejected_three_in_a_row(o.workspace_id, o.id, o.resumed_at) then 'payouts_rejected' end
    from customer_order o where o.workspace_id = of_workspace and o.id = of_order);

-- Keeps status and role of a user as they are until the end of the database transaction. It runs as the owner, because a lock on a row
-- needs the right to change it. The user comes first, as where a user is removed with its roles.
create function lock_role(of_user bigint, in_workspace bigint) returns void
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  perform from app_user where id = of_user for share;
  perform from workspace_role where user_id = of_user and workspace_id = in_workspace for key share;
end $$;

alter table customer_order drop constraint customer_order_pause;
alter table customer_order add constraint customer_order_pause check (
  (paused_at is null) = (pause_reason is null) and (paused_at is null or status = 'active')
  and case pause_reason when 'payouts_rejected' then type = 'recurring'
        when 'placer_without_role' then type in ('scheduled', 'recurring') else pause_reason is null end);
grant update (placed_by) on customer_order to banking_app;

create or replace function step_order() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if old.status <> new.status and (old.status, new.status) not in
     (('active', 'completed'), ('active', 'cancelled'), ('active', 'failed')) then
    raise exception 'an order does not step from % to %', old.status, new.status using errcode = 'BK004';
  end if;
  if old.placed_by is distinct from new.placed_by and not (
     old.paused_at is not null and new.paused_at is null and new.status = 'active'
     and new.placed_by is not null and has_role(new.placed_by, new.workspace_id)) then
    raise exception 'an order gets another placer only when it is resumed, and only one with a role' using errcode = 'BK004';
  end if;
  return new;
end $$;

-- As before, and the role of the placer is locked: a change of it waits for the run, or the run sees it.
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
  if old.status = 'scheduled' and new.status in ('pending', 'completed', 'failed') then
    perform lock_role(o.placed_by, o.workspace_id) from customer_order o
    where o.workspace_id = new.workspace_id and o.id = new.order_id and o.placed_by is not null;
    if exists (
      select from customer_order o
      where o.workspace_id = new.workspace_id and o.id = new.order_id
        and (o.paused_at is not null or pause_required(o.workspace_id, o.id) is not null)) then
      raise exception 'a paused order does not run' using errcode = 'BK012';
    end if;
  end if;
  return new;
end $$;

-- Who paused, resumed, handed over or cancelled an order, and when. Written by the trigger alone.
create sequence order_change_id_seq maxvalue 9007199254740991;
create table order_change (
  workspace_id bigint not null,
  id bigint not null default nextval('order_change_id_seq'),
  order_id bigint not null,
  changed_at timestamptz not null default statement_timestamp(),
  -- The name of an operator, else the login of the service.
  changed_by text not null,
  -- The user who asked for it; null for an operator and for the service itself.
  user_id bigint,
  before jsonb not null,
  after jsonb not null,
  primary key (workspace_id, id)
);
alter table order_change add constraint order_change_order
  foreign key (workspace_id, order_id) references customer_order (workspace_id, id);
create index order_change_by_order on order_change (workspace_id, order_id, id);

create function trail_order() returns trigger
  language plpgsql security definer set search_path = banking, pg_temp as $$
begin
  if tg_relid <> 'banking.customer_order'::regclass or tg_op <> 'UPDATE' then
    raise exception 'trail_order runs after an UPDATE of customer_order only' using errcode = 'BK013';
  end if;
  insert into order_change (workspace_id, order_id, changed_by, user_id, before, after)
  values (new.workspace_id, new.id, coalesce(nullif(current_setting('app.actor', true), ''), session_user),
          nullif(current_setting('app.user', true), '')::bigint,
          jsonb_build_object('status', old.status, 'pauseReason', old.pause_reason, 'placedBy', old.placed_by),
          jsonb_build_object('status', new.status, 'pauseReason', new.pause_reason, 'placedBy', new.placed_by));
  return null;
end $$;
create trigger trail after update of status, pause_reason, placed_by on customer_order for each row
  when (old.pause_reason is distinct from new.pause_reason or old.placed_by is distinct from new.placed_by
        or old.status <> 'cancelled' and new.status = 'cancelled')
  execute function trail_order();
create trigger append_only before update or delete on order_change for each row execute function refuse_change();
create trigger append_only_truncate before truncate on order_change for each statement execute function refuse_change();

alter table order_change enable row level security;
alter table order_change force row level security;
create policy workspaces on order_change
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));
grant select on order_change to banking_app;

revoke execute on function lock_role(bigint, bigint), trail_order() from public;
grant execute on function has_role(bigint, bigint), pause_required(bigint, bigint), lock_role(bigint, bigint) to banking_app;
