import { settingOf } from './configured-database.js';
import { DeploymentError } from './deployment-error.js';

/** For work that a session of its own does, which a pooler in transaction mode does not give. @param why a sentence */
export function needsOwnConnection(why: string, cell?: string): DeploymentError {
  return new DeploymentError(
    `${why} That needs a connection without a pooler. Set ${settingOf({ cell }, true)} to the address of the PostgreSQL server itself, with a ` +
      'login that has the right.',
  );
}
