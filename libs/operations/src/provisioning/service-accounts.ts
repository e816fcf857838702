import type {
  CreateServiceAccountInput,
  CreateServiceAccountKeyInput,
  ServiceAccount,
  ServiceAccountKey,
  ServiceAccountKeyName,
  ServiceAccountKeyWithSecret,
  ServiceAccountName,
  WorkspaceId,
} from '@banking/domain';
import type { Database } from '@banking/postgres';
import { inDirectoryOf } from '../apps/in-directory.js';
import type { AuditedCall } from '../audit/audited-call.js';
import { openReading } from '../resources/reading.js';
import {
  createServiceAccountKey,
  listServiceAccountKeys,
  revokeServiceAccountKey,
} from '../service-accounts/service-account-keys.js';
import {
  createServiceAccount,
  deleteServiceAccount,
  listServiceAccounts,
} from '../service-accounts/service-accounts.js';
import { ProvisioningError, workspacesHere } from './workspaces.js';

/** More than a workspace has of either. */
const LIMIT = 500;

export interface ServiceAccountRow extends ServiceAccount {
  readonly keys: readonly ServiceAccountKey[];
}

async function requireWorkspace(database: Database, workspaceId: WorkspaceId): Promise<void> {
  if ((await workspacesHere(database)).some(({ id }) => id === workspaceId)) return;
  throw new ProvisioningError(`There is no workspace ${workspaceId}. See banking workspace list.`);
}

const callOf = (workspaceId: WorkspaceId): AuditedCall => ({
  workspaceId,
  actor: undefined,
  origin: { isOperator: true },
});

/** The service accounts of a workspace with their keys, newest first. @throws ProvisioningError without the workspace */
export async function serviceAccountsOf(
  database: Database,
  workspaceId: WorkspaceId,
): Promise<readonly ServiceAccountRow[]> {
  await requireWorkspace(database, workspaceId);
  const reading = openReading(database);
  const { items } = await listServiceAccounts(reading, workspaceId, { limit: LIMIT });
  const rows: ServiceAccountRow[] = [];
  for (const account of items) {
    const query = { serviceAccountId: account.id, limit: LIMIT };
    rows.push({ ...account, keys: (await listServiceAccountKeys(reading, workspaceId, query)).items });
  }
  return rows;
}

/**
 * @param home the database of the directory, if it is another one
 * @throws ProvisioningError without the workspace; Refusal as `createServiceAccount` of the port
 */
export async function addServiceAccount(
  database: Database,
  home: Database | undefined,
  workspaceId: WorkspaceId,
  input: CreateServiceAccountInput,
): Promise<ServiceAccount> {
  await requireWorkspace(database, workspaceId);
  const reading = openReading(database);
  return (await createServiceAccount(reading, callOf(workspaceId), input, {}, inDirectoryOf(home))).resource;
}

/**
 * @param home the database of the directory, if it is another one
 * @throws Refusal as `deleteServiceAccount` of the port
 */
export const removeServiceAccount = (
  database: Database,
  home: Database | undefined,
  workspaceId: WorkspaceId,
  name: ServiceAccountName,
): Promise<void> => deleteServiceAccount(openReading(database), callOf(workspaceId), name, inDirectoryOf(home));

/** @throws Refusal as `createServiceAccountKey` of the port */
export async function addKey(
  database: Database,
  workspaceId: WorkspaceId,
  input: CreateServiceAccountKeyInput,
): Promise<ServiceAccountKeyWithSecret> {
  return (await createServiceAccountKey(openReading(database), callOf(workspaceId), input, {})).resource;
}

/** @throws Refusal as `revokeServiceAccountKey` of the port */
export const revokeKey = (database: Database, workspaceId: WorkspaceId, name: ServiceAccountKeyName): Promise<void> =>
  revokeServiceAccountKey(database, callOf(workspaceId), name);
