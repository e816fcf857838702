/** A response is sent without the handler after this time. */
export const HANDLER_TIMEOUT_MS = 15_000;
/** Work that still waits after this time is withdrawn, early enough for its own handler to respond. */
export const WITHDRAW_AFTER_MS = 12_000;

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
