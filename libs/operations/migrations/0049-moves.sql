-- Moves of workspaces between cells.
-- Phase: expand

-- The last move of each workspace, at home. It is deleted when the rows of the former cell are removed.
create table workspace_move (
  workspace_id bigint primary key,
  source_number integer not null,
  target_number integer not null check (target_number <> source_number),
  -- The step that is being done, so that a later run of the command continues with it. `switched` is the first that cannot be abandoned.
  step text not null default 'prepare' check (step in ('prepare', 'follow', 'close', 'switched', 'done', 'abandon')),
  operator text not null check (char_length(operator) between 1 and 200),
  started_at timestamptz not null default statement_timestamp(),
  step_at timestamptz not null default statement_timestamp()
);
alter table workspace_move add constraint workspace_move_workspace foreign key (workspace_id) references workspace;
alter table workspace_move add constraint workspace_move_source foreign key (source_number) references cell;
alter table workspace_move add constraint workspace_move_target foreign key (target_number) references cell;

-- A number that the source of a move writes. When the target has it, it has all that the source wrote before.
create table move_mark (
  workspace_id bigint primary key,
  number bigint not null default 1
);

alter table move_mark enable row level security;
alter table move_mark force row level security;
create policy workspaces on move_mark
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));

grant select on workspace_move to banking_provisioning;
