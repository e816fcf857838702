export { type Claim, CLAIM_BY_INDEX, CLAIM_WORK, claimWork, holdWork, lockClaims, LostClaimError } from './claims.js';
export { parkWork, releaseWork, LIST_PARKED_BATCH, type WorkKey, wakeDelayed } from './work-changes.js';
export { ResultRecorder, runClaimedWork } from './run-claimed-work.js';
export {
  choreChannel,
  isTransientFailure,
  OutageError,
  TRIES_MAX,
  workChannel,
  WorkError,
  type WorkHandler,
  type WorkOutcome,
} from './work-handler.js';
export {
  COUNT_DUE,
  COUNT_PARKED,
  COUNT_UNSERVED,
  LIST_PARKED,
  LIST_UNPARKED,
  listWork,
  OLDEST_DUE,
  type QueuedWork,
  UNPARKED_RANGES,
} from './work-status.js';
export { type Chore, type FreshWork, type Reservation, startWorker, Worker, type WorkerOptions } from './worker.js';
