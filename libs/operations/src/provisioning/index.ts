export { auditPages, noteExport, notePersonalDataExport, noteOperatorChanges, noteToken } from './audit.js';
export {
  type ErasedRows,
  erasePersonalData,
  findPerson,
  type PersonalDataSubject,
  requestsNaming,
  personalDataPages,
  type ReasonToKeep,
} from '../personal-data/erase-personal-data.js';
export {
  addApp,
  addWorkspace,
  allApps,
  allCells,
  allWorkspaces,
  type AppRow,
  type MoveRow,
  openMoves,
  ProvisioningError,
  removeApp,
  removeWorkspace,
  renameApp,
  renameWorkspace,
  setTimeZone,
  type WorkspaceRow,
  workspacesHere,
} from './workspaces.js';
export {
  addFunding,
  countWebhookSecrets,
  findAccount,
  type FundingRow,
  newestDeliveries,
  placerAfter,
  readFunding,
  resumePausedOrder,
  retryDelivery,
  tailEvents,
} from './operator-actions.js';
export {
  approveRequest,
  explainUnapproved,
  hasRequest,
  listRequests,
  type OperatorAction,
  type OperatorRequest,
  readRequest,
  storeRequest,
  withdrawRequest,
} from './operator-requests.js';
export {
  addGrants,
  addUser,
  allUsers,
  bindUser,
  completeUser,
  findUser,
  type GrantRow,
  grantsOf,
  removeGrants,
  removeUser,
  renameUser,
  resumeUser,
  suspendUser,
  type UserRow,
} from './users.js';
export { findGaps } from './find-gaps.js';
export {
  assignDeposit,
  findTarget,
  newestDeposits,
  returnDeposit,
  type WaitingEntry,
  waitingEntries,
} from '../deposits/end-deposits.js';
export {
  addKey,
  addServiceAccount,
  removeServiceAccount,
  revokeKey,
  type ServiceAccountRow,
  serviceAccountsOf,
} from './service-accounts.js';
export { WORK_KINDS } from '../worker/work-kinds.js';
