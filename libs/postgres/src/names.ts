/** The schema all tables of this service live in. */
export const SCHEMA = 'banking';

/** Owns the tables and runs the migrations. No login is this role: the migration takes it on with SET ROLE. */
export const OWNER_ROLE = 'banking_owner';

/** Serves requests: payments and the instructions of customers. It reads the directory and cannot change it. It brings no money in. */
export const API_ROLE = 'banking_api';

/** Carries out due work: the same payments, returns, arrivals of other databases, and what networks say of payouts. */
export const WORKER_ROLE = 'banking_worker';

/** Reads the books, keeps where their verification stands, and stops payouts. */
export const VERIFIER_ROLE = 'banking_verifier';

/** Commands of operators: as the worker, and deposits. */
export const OPERATOR_ROLE = 'banking_operator';

/** Changes the directory: apps, users, workspaces and roles in them. It has no right to money. */
export const PROVISIONING_ROLE = 'banking_provisioning';

/** All roles that connections take on. Their rights are in the last file of the baseline. */
export const ROLES = [API_ROLE, WORKER_ROLE, VERIFIER_ROLE, OPERATOR_ROLE, PROVISIONING_ROLE] as const;

/** What one process may take on that serves requests, carries out work and verifies. */
export const SERVICE_ROLES: readonly string[] = [API_ROLE, WORKER_ROLE, VERIFIER_ROLE];

/** What the login of an operator may take on. */
export const OPERATOR_ROLES: readonly string[] = [OPERATOR_ROLE, PROVISIONING_ROLE];

/** The login of services and workers on the embedded server, with the roles of both. */
export const EMBEDDED_LOGIN = 'banking_login';

/** The login that commands on the embedded server share: all roles but the owner. */
export const EMBEDDED_OPERATOR_LOGIN = 'banking_command_login';
