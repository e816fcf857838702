/** The SQLSTATEs of PostgreSQL that code or specs decide on (PostgreSQL manual, appendix A). */
export const SQLSTATE = {
  protocolViolation: '08P01',
  featureNotSupported: '0A000',
  divisionByZero: '22012',
  invalidParameterValue: '22023',
  notNullViolation: '23502',
  foreignKeyViolation: '23503',
  uniqueViolation: '23505',
  checkViolation: '23514',
  readOnlySqlTransaction: '25006',
  invalidSqlStatementName: '26000',
  invalidCatalogName: '3D000',
  serializationFailure: '40001',
  deadlockDetected: '40P01',
  insufficientPrivilege: '42501',
  syntaxError: '42601',
  undefinedObject: '42704',
  duplicateObject: '42710',
  undefinedTable: '42P01',
  duplicatePreparedStatement: '42P05',
  diskFull: '53100',
  objectInUse: '55006',
  lockNotAvailable: '55P03',
  queryCanceled: '57014',
  adminShutdown: '57P01',
  crashShutdown: '57P02',
  cannotConnectNow: '57P03',
  databaseDropped: '57P04',
  idleSessionTimeout: '57P05',
  ioError: '58030',
  internalError: 'XX000',
} as const;

/** The first two characters of a SQLSTATE: every code of one kind. */
export const SQLSTATE_CLASS = {
  connectionException: '08',
  invalidAuthorization: '28',
  insufficientResources: '53',
} as const;

/**
 * The SQLSTATEs that triggers and functions of our migrations raise. One code stands for one rule, whatever table it protects; the
 * migrations raise no code that is missing here.
 */
export const RULE_VIOLATION = {
  /** Debits and credits of a transaction are equal in each currency. */
  unbalancedTransaction: 'BK001',
  /** A transfer continues its account: the next version, and the balance that its amount makes of the one before. */
  discontinuousTransfer: 'BK002',
  /** Records are append-only: nothing is deleted, and only the columns of a status change, forward. */
  recordChanged: 'BK003',
  /** A status changes only by the steps of its table. */
  illegalStep: 'BK004',
  /** Only the worker with the current claim and an unexpired lease may write for a piece of work. */
  claimLost: 'BK005',
  /** A quote, or the conversion of an order, is its amount at its rate, rounded down, and begins now. */
  wrongConversion: 'BK006',
  /** A quote is used before it expires, by the payment that it was made for. */
  quoteUnusable: 'BK007',
  /** A rail event that contradicts an earlier one is recorded with its discrepancy. */
  discrepancyMissing: 'BK010',
  /** A return belongs to a failed transaction, resolves a discrepancy or ends a deposit. */
  returnWithoutReason: 'BK011',
  /** No execution of a paused order changes. */
  orderPaused: 'BK012',
  /** A function with its owner's rights runs in the trigger it was made for and in no other. */
  foreignTrigger: 'BK013',
  /** A live database takes no invented reference data, and one document of operators waits at a time. */
  wrongReference: 'BK014',
  /** Tables of the sandbox are written in a sandbox only. */
  sandboxOnly: 'BK015',
  /** A scope of a cell names only workspaces that the cell holds and that are open there. */
  workspaceElsewhere: 'BK017',
  /** The directory and the places are written at home only. The other cells have copies. */
  directoryCopy: 'BK018',
  /** A payment to another cell has a crossing, with the amount of its transaction, and both end together. */
  wrongCrossing: 'BK019',
  /** An accepted arrival has its transaction, with its amount on its account. */
  wrongArrival: 'BK020',
  /** Transactions and transfers of another kind than the function posts. */
  wrongPosting: 'BK021',
  /** A placed order has its first run, and a run that took place the payment of its order. */
  wrongOrder: 'BK022',
  /** A payout ends by its event, a crossing by its answer, and what fails has come back. */
  wrongSettlement: 'BK023',
  /** What a batch was decided on without reading it is still so behind the locks. */
  outdatedMemory: 'BK024',
  /** A deposit has the completed transaction of its money, which is returned exactly if the deposit ended. */
  wrongDeposit: 'BK025',
  /** No payment exceeds a limit of its workspace. */
  limitExceeded: 'BK026',
  /** A service account is viewer or member, and only administrators and operators make it and its keys. */
  wrongServiceAccount: 'BK031',
  /** What the rules of a workspace require approvals of is done with them, once, and as it was approved. */
  notApproved: 'BK027',
  /** Only an administrator changes the members of a workspace, which keeps an administrator. */
  wrongMembers: 'BK030',
  /** Outside a sandbox, what an operator does to money is what another operator has approved. */
  notApprovedByOperator: 'BK028',
  /** A payout that needs a decision is decided once, and submitted after its approval. */
  undecidedPayout: 'BK029',
  /** Personal data change to pseudonyms only, and only if nothing requires them. */
  wrongErasure: 'BK032',
} as const;
