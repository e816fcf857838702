/** The schema all tables of this service live in. */
export const SCHEMA = 'banking';

/** Owns the tables and runs the migrations. Nobody logs in as it. */
export const OWNER_ROLE = 'banking_owner';

/** What the running service may do, and no more. Nobody logs in as it: connections take it on with SET ROLE. */
export const APP_ROLE = 'banking_app';

/** How the service logs in to the embedded server: it may take on the app's role and nothing else. */
export const EMBEDDED_LOGIN = 'banking_login';
