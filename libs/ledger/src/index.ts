export { bookedTransactions, type BookedTransaction } from './booked-transactions.js';
export * from './books.js';
export * from './open-account.js';
export * from './post.js';
export { preparePosting } from './posting.js';
export * from './proposal.js';
export type { Gate } from './decide.js';
export * from './return-entry.js';
export * from './verify.js';
