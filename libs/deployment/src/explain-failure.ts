import { isNativeError } from 'node:util/types';
import { ConfigError, HOME_CELL, hostsOf } from '@banking/process';
import {
  DatabaseEncodingError,
  DatabaseError,
  MigrationError,
  SQLSTATE,
  isServedElsewhere,
  isUnavailable,
  DatabaseSetupError,
} from '@banking/postgres';
import { Refusal } from '@banking/domain';
import { attachedServers, EmbeddedServerError } from '@banking/embedded-postgres';

/** A database as the configuration names it, for messages. */
interface ConfiguredDatabase {
  /** Undefined for an embedded one. */
  readonly url: string | undefined;
  /** The name of the cell, if the deployment has several databases. */
  readonly cell?: string | undefined;
}

/** The setting with the login that serves, or with the one that migrates. */
export function settingOf({ cell }: Pick<ConfiguredDatabase, 'cell'>, isOwner = false): string {
  if (cell === undefined || cell === HOME_CELL) return isOwner ? 'DATABASE_OWNER_URL' : 'DATABASE_URL';
  return `${isOwner ? 'ownerUrl' : 'url'} of the cell "${cell}" in CELLS_FILE`;
}

/** The hosts of the database, never the login or its password. */
function placeOf({ url, cell }: ConfiguredDatabase): string {
  if (url !== undefined) return `at ${hostsOf(url)}`;
  return `in ${folderOf({ cell })}`;
}

/** The folder of an embedded database. */
function folderOf({ cell }: Pick<ConfiguredDatabase, 'cell'>): string {
  return cell === undefined || cell === HOME_CELL ? 'DATA_DIR' : `DATA_DIR/cells/${cell}`;
}

/** A start that cannot continue. Its message names the next step. */
export class DeploymentError extends Error {
  override readonly name = 'DeploymentError';
}

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

/** Corrupted data, an error of the file system. */
const DAMAGED = /^(?:XX00[12]|58)/;

/**
 * For an unreachable server, damaged files or another encoding, returns an error that states what to do. Returns other errors unchanged.
 *
 * @param isOwner whether the login that migrates was used
 */
export function explainFailure(error: unknown, database: ConfiguredDatabase, isOwner = false): unknown {
  if (error instanceof DatabaseEncodingError) {
    const advice = `create one with ENCODING 'UTF8', and name it in ${settingOf(database, isOwner)}`;
    return new ConfigError([`The database ${placeOf(database)} has the encoding ${error.encoding}: ${advice}.`]);
  }
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
  if (isServedElsewhere(cause)) {
    const advice = 'it is being moved, or was moved. See banking cell list, and try again when it is open.';
    return new DeploymentError(`A workspace is not open in the database ${whose}: ${advice}`, { cause: error });
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

/** What a process leaves running that ends without closing its deployments: a sentence for each embedded server. */
export const describeLeftServers = (): readonly string[] =>
  attachedServers().map(
    ({ dataDir, pid }) =>
      `The database server of ${dataDir} still runs (process ${pid}). The next start uses it, and the next stop ends it. ` +
      `If no other process uses it, end it now with kill -INT ${pid}.`,
  );

const OPERATOR_ERRORS = [DatabaseSetupError, DeploymentError, EmbeddedServerError, MigrationError];

/** Whether the message of an error of a deployment states what an operator can do, so that its stack is not needed. */
export const isOperatorError = (error: unknown): boolean => OPERATOR_ERRORS.some((kind) => error instanceof kind);
