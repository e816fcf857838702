/** Sessions that refresh their access token: a separate entry, because most callers obtain a token in another way. */
export * from './refresh-token-session.js';
export * from './credentials.js';
export * from './credentials.js';
