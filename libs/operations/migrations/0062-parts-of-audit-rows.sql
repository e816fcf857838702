-- A row of the outbox of the audit trail has at most 100 entries. The recorder takes whole rows of all workspaces, so one of 100,000 entries
-- would exceed the time of its statement each time, and no workspace would get entries any more.
-- Phase: expand

create function split_audit_entries() returns trigger language plpgsql as $$
begin
  insert into audit_outbox (workspace_id, entries)
  select new.workspace_id, jsonb_agg(e.entry order by e.position)
  from jsonb_array_elements(new.entries) with ordinality e (entry, position)
  group by (e.position - 1) / 100 order by (e.position - 1) / 100;
  return null;
end $$;
create trigger split before insert on audit_outbox for each row
  when (case jsonb_typeof(new.entries) when 'array' then jsonb_array_length(new.entries) end > 100) execute function split_audit_entries();
revoke execute on function split_audit_entries() from public;
