/** A session that renews itself, as a credential: an entry of its own, for most callers have their token from elsewhere. */
export * from './refresh-token-session.js';
export * from './session-error.js';
export * from './token-store.js';
