-- A table behind row-level security and a sequence, for the specs of this library.

create sequence note_id_seq maxvalue 9007199254740991;

create table note (
  workspace_id bigint not null,
  id bigint not null,
  text text not null,
  written_by bigint,
  primary key (workspace_id, id)
);
alter table note enable row level security;
alter table note force row level security;
create policy note_scope on note
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));

grant select, insert, update, delete on note to banking_api, banking_operator;
grant usage on sequence note_id_seq to banking_api, banking_operator;
