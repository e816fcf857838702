-- The list of an app's users shows an administrator the roles of all its workspaces. As a list of workspaces in a setting, tens of
-- thousands would be parsed for every row; this subquery is hashed once.
-- Phase: expand

create policy of_app on workspace_role for select
  using (workspace_id in (select w.id from workspace w where w.app_id = nullif(current_setting('app.app', true), '')::bigint));
