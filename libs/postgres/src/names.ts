/** The schema all tables of this service live in. */
export const SCHEMA = 'banking';

/** Owns the tables and runs the migrations. No login is this role: the migration takes it on with SET ROLE. */
export const OWNER_ROLE = 'banking_owner';

/** Has the rights of the running service: the books and the instructions of customers. It reads the directory and cannot change it. */
export const APP_ROLE = 'banking_app';

/** Changes the directory: apps, users, workspaces and roles in them. It has no right to money. */
export const PROVISIONING_ROLE = 'banking_provisioning';

/** The login of services on the embedded server: it may take on the app role and no other. */
export const EMBEDDED_LOGIN = 'banking_login';

/** The login of commands on the embedded server: it may take on the app role and the provisioning role, not the owner. */
export const EMBEDDED_OPERATOR_LOGIN = 'banking_operator';
