-- Both audit trails are compared with the rows they are about: the program may read them, and finds the entries of an account.

create index account_change_by_account on account_change (workspace_id, account_id, id);

-- Who has which role in a workspace is shown to that workspace alone, here as in the table itself. The trigger writes as the owner.
alter table directory_change enable row level security;
create policy readable on directory_change for select
  using (relation <> 'workspace_role'
         or (record ->> 'workspace_id')::bigint = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));
grant select (id, relation, action, record) on directory_change to banking_app;
