export { auditPages, noteExport, notesOf, noteToken } from './audit.js';
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
  type WorkspaceRow,
  workspacesHere,
} from './workspaces.js';
export {
  addFunding,
  findAccount,
  type FundingRow,
  newestDeliveries,
  resumePausedOrder,
  retryDelivery,
  tailEvents,
} from './operator-actions.js';
export {
  addGrant,
  addUser,
  allGrants,
  allUsers,
  bindUser,
  completeUser,
  type GrantRow,
  removeGrant,
  removeUser,
  renameUser,
  resumeUser,
  suspendUser,
  type UserRow,
} from './users.js';
export { assignDeposit, newestDeposits, returnDeposit, waitingEntries } from '../deposits/end-deposits.js';
