import { DatabaseError, MigrationError, SQLSTATE } from '@banking/postgres';
import { settingOf } from './configured-database.js';
import { DeploymentError } from './deployment-error.js';

/** Names the setting for the login that migrates: the login that serves is not meant to. */
export function explainLogin(pending: readonly string[], cell: string | undefined): (error: unknown) => never {
  return (error) => {
    const { cause } = error as { cause?: unknown };
    const isNotAllowed =
      error instanceof MigrationError &&
      cause instanceof DatabaseError &&
      cause.code === SQLSTATE.insufficientPrivilege;
    if (!isNotAllowed) throw error;
    throw new DeploymentError(
      `The database lacks ${pending.join(', ')}, and the login of ${settingOf({ cell })} may not migrate. ` +
        `Set ${settingOf({ cell }, true)} to a login that may; in a sandbox, this one may be such a login. ${error.message}`,
      { cause: error },
    );
  };
}
