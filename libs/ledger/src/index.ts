export { bookedTransactions, type BookedTransaction } from './booked-transactions.js';
export { booksAt, wasBooked, type AccountAt, type AccountHead, headsAt } from './books-at.js';
export {
  type Books,
  booksAs,
  currencyCode,
  openAccount,
  openBooks,
  type PreparedPosting,
  preparePosting,
} from './books.js';
export { ownLegsOf } from './own-legs.js';
export { ownSums } from './own-sums.js';
export { microsecondsOf, timestampAt } from './microseconds.js';
export {
  lockAndRead,
  post,
  postDeposits,
  posting,
  postingValues,
  postPayments,
  postReturns,
  postSandboxDeposits,
  leasedPayouts,
  type LeasedPayout,
} from './post.js';
export {
  balanceAfter,
  decide,
  DecisionContext,
  digestNow,
  digestOrNone,
  type LockedAccount,
  newSalt,
} from './decide.js';
export {
  accountKey,
  type AccountRef,
  type Conversion,
  type ConvertedAmount,
  customerAccountsOf,
  requirePosted,
  type Entry,
  type Leg,
  type OwnAccountKind,
  type PostedTransaction,
  type Proposal,
} from './proposal.js';
export { RANGE_ROWS, type RangeKey, rangeKey, type RangeOptions, type RangeProgress, rangesOf } from './ranges.js';
export { returnEntries, returnEntry } from './return-entry.js';
export type { Finding } from './verify-chain.js';
export { CHECKS, INTERWORKSPACE_CHECK, settledInstant, type VerificationReport, verifyBooks } from './verify-books.js';
export {
  deleteVerified,
  nextUnverified,
  transactionsByWorkspace,
  verifyStored,
  type StoredRows,
} from './verify-stored.js';
