/** A response is sent without the handler after this time. */
export const HANDLER_TIMEOUT_MS = 15_000;
/** Work that still waits after this time is withdrawn, early enough for its own handler to respond. */
export const WITHDRAW_AFTER_MS = 12_000;

/** Limits the pages of lists that are read at the same time, and the bytes of them that clients have not read. */
export interface PageLimits {
  /** The rows of the pages that are read at the same time. */
  readonly rows: number;
  readonly rowsPerWorkspace: number;
  /** Requests that may wait. One workspace alone may use half of them. */
  readonly waiting: number;
  readonly waitMaxMs: number;
  readonly unsentBytes: number;
  readonly unsentBytesPerWorkspace: number;
}

export const PAGES: PageLimits = {
  rows: 2_000,
  // One page of the maximum, or five of the default.
  rowsPerWorkspace: 500,
  waiting: 512,
  waitMaxMs: 10_000,
  // A page of 500 transfers has two megabytes.
  unsentBytes: 64 * 1024 * 1024,
  unsentBytesPerWorkspace: 16 * 1024 * 1024,
};

/** A gateway shares the connections to its upstream between callers, see `RequestQueue`, and has no database. */
export const PAGES_OF_GATEWAY: PageLimits = { ...PAGES, rows: Infinity, rowsPerWorkspace: Infinity };

/** Limits the requests that change the directory at the same time, of which a workspace has one. */
export const DIRECTORY_CHANGES = {
  running: 2,
  /** Requests that may wait. One workspace alone may use half of them. */
  waiting: 512,
  /** As long as a statement waits for a lock of the database. */
  waitMaxMs: 2_000,
  /** As long as a page waits, because many persons may come at once. */
  firstSignInWaitMaxMs: 10_000,
};

/** Limits the requests that wait for one lock of the database, such as that of a recipient. */
export const WAITS_FOR_LOCKS = {
  /** With a connection, for one lock: the next one waits at the database, so that the lock is not free for a round trip. */
  running: 2,
  /** For all locks. One lock alone may use half of them. */
  waiting: 512,
  /** The verification of a recipient then has time to ask a network within that of a handler. */
  waitMaxMs: 5_000,
};

/** What a client can make the server hold, and for how long. */
export const LIMITS = {
  bodyBytes: 64 * 1024,
  headerBytes: 16 * 1024,
  headers: 100,
  urlBytes: 8 * 1024,
  parameterLength: 100,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  /** Longer than a handler takes. Node allows twice this time to a client that does not read its response. */
  idleTimeoutMs: HANDLER_TIMEOUT_MS + 1_000,
  keepAliveTimeoutMs: 72_000,
  checkConnectionsEveryMs: 2_000,
  connections: 1_000,
  requestsPerConnection: 1_000,
} as const;
