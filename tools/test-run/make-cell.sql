-- Makes the template of specs a cell besides home, with every workspace open: `npm run specs:in-a-cell` runs the specs of libraries in it.
insert into cell_identity (number, name) values (5, 'spec');

do $$
declare
  name text;
begin
  for name in select sequencename from pg_sequences where schemaname = 'banking' loop
    execute format('alter sequence %I increment by 64', name);
    execute format('select setval(%L, (coalesce(pg_sequence_last_value(%L::regclass), 0) / 64 + 1) * 64 + 5, false)', name, name);
  end loop;
end $$;

-- The specs write the copy of the directory, as replication does.
do $$
declare
  name text;
begin
  for name in select tgrelid::regclass from pg_trigger where tgname = 'written_at_home' loop
    execute format('alter table %s disable trigger written_at_home', name);
  end loop;
end $$;
insert into cell (number, name) values (0, 'home'), (5, 'spec');

-- Every workspace is placed in this cell and open, however a spec adds it.
create function place_here() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  new.cell_number := 5;
  return new;
end $$;
create trigger placed_here before insert on workspace_place for each row execute function place_here();
create function open_here() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  insert into workspace_place (workspace_id, cell_number) values (new.id, 5) on conflict do nothing;
  return null;
end $$;
create trigger opened_here after insert on workspace for each row execute function open_here();
