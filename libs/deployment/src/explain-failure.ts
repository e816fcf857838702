import { isNativeError } from 'node:util/types';
import { Refusal } from '@banking/domain';
import { DatabaseError, MigrationError, SQLSTATE, isUnavailable } from '@banking/postgres';
import { type ConfiguredDatabase, folderOf, placeOf, settingOf } from './configured-database.js';
import { DeploymentError } from './deployment-error.js';

/** Corrupted data, an error of the file system. */
const DAMAGED = /^(?:XX00[12]|58)/;

/**
 * For an unreachable server or damaged files, returns an error that states what to do. Returns other errors unchanged.
 *
 * @param isOwner whether the login that migrates was used
 */
export function explainFailure(error: unknown, database: ConfiguredDatabase, isOwner = false): unknown {
  const cause = error instanceof Refusal || error instanceof MigrationError ? error.cause : error;
  const code = (cause instanceof DatabaseError && cause.code) || '';
  const whose = placeOf(database);
  if (cause instanceof DatabaseError && DAMAGED.test(code)) {
    const advice = 'Stop every process that uses it and put a backup in its place.';
    return new DeploymentError(`The database ${whose} is damaged: ${cause.message}. ${advice}`, { cause: error });
  }
  if (cause instanceof DatabaseError && code === SQLSTATE.diskFull) {
    const advice = 'Free at least 200 MB and start again.';
    return new DeploymentError(`The disk of the database ${whose} is full: ${cause.message}. ${advice}`, {
      cause: error,
    });
  }
  if (cause instanceof DatabaseError && code === SQLSTATE.queryCanceled) {
    const advice = 'Try again when the server has less to do.';
    return new DeploymentError(`A statement at the database ${whose} exceeded its time limit. ${advice}`, {
      cause: error,
    });
  }
  return isUnavailable(error)
    ? new DeploymentError(explainUnreachable(error, database, isOwner), { cause: error })
    : error;
}

/** The driver's message if the server has no TLS. The error has no code. */
const NO_TLS = 'The server does not support SSL connections';
/** Codes of `node:tls`, such as CERT_HAS_EXPIRED, SELF_SIGNED_CERT_IN_CHAIN and UNABLE_TO_VERIFY_LEAF_SIGNATURE. */
const UNTRUSTED = /CERT|SIGNATURE/;

/** Names the server, never the login or its password. */
function explainUnreachable(error: Refusal, database: ConfiguredDatabase, isOwner: boolean): string {
  const server = database.url === undefined ? 'The embedded database' : `The database ${placeOf(database)}`;
  const why = isNativeError(error.cause) ? error.cause.message : error.message;
  const code = String((error.cause as NodeJS.ErrnoException | undefined)?.code);
  if (why === NO_TLS) {
    return `${server} offers no TLS. Switch TLS on at the server, or set DATABASE_TLS=off to connect without it.`;
  }
  if (UNTRUSTED.test(code)) {
    return (
      `${server} did not prove who it is: ${why}. Connect by a name in its certificate, and set sslrootcert in the URL to the file ` +
      'of the CA that signed it. DATABASE_TLS=off allows connecting without this proof.'
    );
  }
  const advice =
    database.url === undefined
      ? `Look into server.log in ${folderOf(database)}.`
      : `Check ${settingOf(database, isOwner)} and that the server runs${orEmbedded(database)}.`;
  return `${server} cannot be reached: ${why}. ${advice}`;
}

const orEmbedded = ({ cell }: ConfiguredDatabase) =>
  cell === undefined ? '; without DATABASE_URL the embedded database is used' : '';
