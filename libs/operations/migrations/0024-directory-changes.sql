-- Users change their status and their e-mail; apps and workspaces change their names. Who did it is in the trail of the directory.

grant update (email, status) on app_user to banking_app;
grant update (name, updated_at) on app, workspace to banking_app;
