import type { Origin, Scope, UserId, WorkspaceId } from '@banking/domain';
import type { RequestTrace } from '@banking/telemetry/tracing';
import type { HeaderLines } from './request-head.js';

/** The rows of a page that name persons, for the log: no values. */
export interface RowsRead {
  readonly count: number;
  /** At most 100. */
  readonly ids: readonly number[];
}

export interface RequestContext {
  operation?: string;
  /** Its span, in a process that records traces. */
  trace?: RequestTrace;
  /** Set when the headers were scanned. */
  headerLines?: HeaderLines;
  /** Set when the caller's access has been checked. */
  caller?: Scope;
  /** Checks again that the caller may call the operation, for a request that was held. @throws Refusal */
  confirmAccess?: () => Promise<void>;
  /** Lets the next page be read, for a request that is held. Missing once it was called. See `PagedReads`. */
  endPagedRead?: () => void;
  /** Aborted shortly before a response is sent without the handler. Missing for a read. See `boundHandlers`. */
  deadline?: AbortSignal;
  /** The idempotency key of a creation, set when the header was read. */
  idempotencyKey?: string;
  /** Set when the credential is verified, also if the call is refused afterwards. */
  userId?: UserId;
  /** The workspace of the header, if the user has a role there; also if the call is refused. */
  memberOf?: WorkspaceId;
  sourceAddress?: string;
  /** Set when the page of such a list was read. */
  rowsRead?: RowsRead;
  /** The credential and the source address, set with the user. */
  origin?: Origin;
  /** Why a credential was refused, as a code for the log and for metrics. */
  credentialFault?: string;
  /** The reason in the body of an error, set when the error is converted to a response. */
  reason?: string;
}
