-- Whether this database holds demo money (a sandbox) or real money. Written once, together with the table, and never changed.

create table deployment_mode (
  -- At most one row.
  id boolean primary key default true check (id),
  is_sandbox boolean not null,
  created_at timestamptz not null default now()
);

do $$
declare
  -- `on` and `off` are what the operator has set; `default` means on, because nothing was set.
  setting text not null := current_setting('banking.sandbox');
begin
  if setting not in ('on', 'off', 'default') then
    raise exception 'banking.sandbox must be on, off or default' using errcode = '22023';
  end if;
  -- A database from before this migration may hold real money, so its mode is not guessed.
  if setting = 'default' and exists (select from app) then
    raise exception 'a database with data needs a mode' using errcode = 'BK014';
  end if;
  if setting = 'off' and (exists (select from sandbox_rail_payment) or exists (select from demo_step)) then
    raise warning 'this live database holds demo data or payouts that only the sandbox network has carried out';
  end if;
  insert into deployment_mode (is_sandbox) values (setting <> 'off');
end $$;

create trigger append_only before update or delete on deployment_mode for each row execute function refuse_change();
create trigger append_only_truncate before truncate on deployment_mode for each statement execute function refuse_change();
grant select on deployment_mode to banking_app, banking_provisioning;

-- What only a sandbox may write: moved clocks, payments of the sandbox network, the demo world.
create function require_sandbox() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  if not exists (select from deployment_mode where is_sandbox) then
    raise exception '% is written in a sandbox only', tg_table_name using errcode = 'BK015';
  end if;
  return new;
end $$;
create trigger sandbox_only before insert or update on sandbox_clock for each statement execute function require_sandbox();
create trigger sandbox_only before insert or update on sandbox_rail_payment for each statement execute function require_sandbox();
create trigger sandbox_only before insert or update on sandbox_rail_event for each statement execute function require_sandbox();
create trigger sandbox_only before insert or update on demo_step for each statement execute function require_sandbox();
