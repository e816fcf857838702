import {
  type Account,
  fromBalanceAmount,
  type MinorUnits,
  type PlaceOrderInput,
  type ProductId,
  type RequestOptions,
  type TransferAmount,
  type WorkspaceId,
} from '@banking/domain';
import { LedgerBankingService, LedgerDirectory, startBankingWorker } from '@banking/operations';
import { SANDBOX_ROUTING, sandboxRails } from '@banking/payouts';
import { type Database, PROVISIONING_ROLE, SCHEMA } from '@banking/postgres';
import { recipientAbroad } from '@banking/operations/testing';
import { until, openDatabase } from '@banking/postgres/testing';
import { addApp, addGrants, addUser, addWorkspace } from '@banking/operations/provisioning';
import { CellsBankingService, Cells, type CellUse } from '../cells/cells.js';
import { CellsDirectory, HomeOrCopies } from '../cells/cells-directory.js';
import { accountCodes } from '../cells/places.js';
import type { CellServer } from './cell-server.js';

const ISSUER = 'https://id.harbour.example';
export const MIA = { issuer: ISSUER, subject: 'mia' };

/** What a process has of each database. */
interface CellUseOfSpec extends CellUse {
  readonly database: Database;
  readonly banking: LedgerBankingService;
  readonly directory: LedgerDirectory;
  /** Does what is due in this database, until it is stopped. */
  startWork(): { stop(): Promise<void> };
}

/** A process of the deployment. */
export interface CellProcess {
  readonly cells: Cells<CellUseOfSpec>;
  readonly banking: CellsBankingService;
  readonly directory: CellsDirectory;
  close(): Promise<void>;
}

/** @param nowMs the clock by which the copies of the directory become invalid */
export async function startProcess(
  server: CellServer,
  nowMs?: () => number,
  warn?: (line: string) => void,
): Promise<CellProcess> {
  const settings = { ...server.settings, poolSize: 4, warn };
  const cells = await Cells.open<CellUseOfSpec>(settings, (deployment, place) => {
    const { home, others } = place!;
    const { database, books } = deployment;
    const banking = new LedgerBankingService(
      database,
      books,
      { rails: SANDBOX_ROUTING },
      true,
      accountCodes(home, others),
      undefined,
      database === home ? undefined : home,
    );
    const { orders } = banking;
    return {
      ...{ database, banking },
      directory: new LedgerDirectory(database, { bindsByEmail: database === home }),
      startWork: () => startBankingWorker(deployment, { orders, rails: sandboxRails, crossings: others }),
    };
  });
  const copies = () => cells.all().flatMap(({ number, use }) => (number === 0 ? [] : (use ?? [])));
  const homeOrCopies = () => new HomeOrCopies(cells.get(0), copies, nowMs);
  return {
    cells,
    banking: new CellsBankingService(homeOrCopies(), cells),
    directory: new CellsDirectory(homeOrCopies(), () => cells.all().map(({ use }) => use)),
    close: () => cells.close(),
  };
}

/**
 * Makes a workspace in each cell, with the user Mia as its administrator.
 *
 * @param isFirst whether app and user are made too. Default true
 * @returns the ids by the name of the cell
 */
export async function addWorkspaces(
  server: CellServer,
  names: readonly string[],
  isFirst = true,
): Promise<Map<string, WorkspaceId>> {
  const connection = server.connectionOf('home');
  const provisioning = await openDatabase({ connection, role: PROVISIONING_ROLE, schema: SCHEMA, poolSize: 1 });
  try {
    if (isFirst) {
      await addApp(provisioning, 'spec', 'Harbour');
      await addUser(provisioning, 'spec', { email: 'mia@harbour.example', app: 'Harbour', identity: MIA });
    }
    const ids = new Map<string, WorkspaceId>();
    for (const name of names) {
      const [cell] = name.split(' ');
      const id = await addWorkspace(provisioning, 'spec', { app: 'Harbour', name, cell });
      await addGrants(provisioning, 'spec', {
        workspaceId: id,
        email: 'mia@harbour.example',
        roles: ['admin', 'member'],
      });
      ids.set(name, id as WorkspaceId);
      const open = `select from cell_workspace where workspace_id = ${id}`;
      await until(async () => (await server.query(cell!, open)).length > 0);
    }
    return ids;
  } finally {
    await provisioning.end();
  }
}

/** An account with money. */
async function fundedAccount({ banking }: CellProcess, workspaceId: WorkspaceId): Promise<Account> {
  const [product] = await banking.listProducts({});
  const { resource } = await banking.openAccount({ workspaceId }, { productID: product!.id });
  await banking.fundAccount({ workspaceId }, { accountId: resource.id, amount: '10000' as TransferAmount });
  return resource;
}

/** Pays another account of the same workspace. */
export async function payerOf(process: CellProcess, workspaceId: WorkspaceId) {
  const [from, to] = [await fundedAccount(process, workspaceId), await fundedAccount(process, workspaceId)];
  const recipient = await process.banking.addInternalRecipient({ workspaceId }, { accountCode: to.code! });
  const balance = async (): Promise<MinorUnits> => {
    const { edges } = await process.banking.getAccount({ workspaceId }, { accountId: from.id });
    return fromBalanceAmount(edges.balances[0]!.amount);
  };
  const pay = () =>
    process.banking.placeOrder(
      { workspaceId },
      { accountId: from.id, recipientID: recipient.resource.id, amount: '100' as TransferAmount, type: 'instant' },
    );
  return { from, to, balance, pay };
}

/** The product of accounts in euros. */
export const IN_EUROS = 2 as ProductId;

/** An account in euros with money, which pays a recipient in Germany: each payment is a payout. */
export async function payerAbroad({ banking }: CellProcess, workspaceId: WorkspaceId, opening: RequestOptions = {}) {
  const scope = { workspaceId };
  const { resource: account } = await banking.openAccount(scope, { productID: IN_EUROS }, opening);
  await banking.fundAccount(scope, { accountId: account.id, amount: '10000000' as TransferAmount });
  const recipientID = await recipientAbroad(banking, scope, 'DE89370400440532013000');
  const pay = (when: Pick<PlaceOrderInput, 'type' | 'startAt'> = { type: 'instant' }) => {
    const payment = { accountId: account.id, recipientID, amount: '500000' as TransferAmount, purposeCode: 'IR001' };
    return banking.placeOrder(scope, { ...payment, ...when });
  };
  return { account, pay };
}
