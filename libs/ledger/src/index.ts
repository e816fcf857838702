export { bookedTransactions, type BookedTransaction } from './booked-transactions.js';
export { booksAt, wasBooked, type AccountAt } from './books-at.js';
export * from './books.js';
export * from './open-account.js';
export { currencyCode } from './own-accounts.js';
export { ownSums } from './own-sums.js';
export { post } from './post.js';
export { decide } from './decide.js';
export { type AccountHead, headsAt } from './heads-at.js';
export { digestNow } from './hash-of.js';
export type { DecisionContext } from './decision-context.js';
export { lockAndRead } from './lock-and-read.js';
export { preparePosting, type PreparedPosting } from './prepare-posting.js';
export { write, writeFirst } from './write.js';
export {
  accountKey,
  customerAccountsOf,
  requirePosted,
  type Entry,
  type Leg,
  type PostedTransaction,
  type Proposal,
} from './proposal.js';
export * from './ranges.js';
export * from './return-entry.js';
export type { Finding } from './finding.js';
export * from './verify-books.js';
export { deleteVerified, nextUnverified, transactionsByWorkspace } from './unverified-transactions.js';
export { verifyStored, type StoredRows } from './verify-stored.js';
export { settledInstant } from './verify-interworkspace.js';
