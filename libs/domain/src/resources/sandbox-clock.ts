import type { Timestamp } from '../timestamp.js';

/** The clock of a workspace in a sandbox. It stays at a moved time until the real time is later. */
export interface SandboxClock {
  readonly now: Timestamp;
}
