import type { Timestamp } from '../timestamp.js';

/** The time a workspace has come to, where that can be moved. It stands there until the real time is later. */
export interface SandboxClock {
  readonly now: Timestamp;
}
