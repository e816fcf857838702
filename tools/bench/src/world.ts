import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ApprovalRule,
  type LimitTerms,
  parseAmount,
  type TransferAmount,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { verifyDeployment } from '@banking/books-proof';
import { openDeployment, type Deployment } from '@banking/deployment';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { post, requirePosted, type Proposal } from '@banking/ledger';
import { LedgerBankingService, SANDBOX_ROUTING } from '@banking/operations';
import { makeDemoData, readDemoBookings, readDemoIds } from '@banking/operations/demo';
import { addGrants, addWorkspace, allWorkspaces } from '@banking/operations/provisioning';
import { bind, type ConnectionOptions, SCHEMA, sqlStatement } from '@banking/postgres';
import { analyzeTables } from '@banking/postgres/testing';
import type { BenchTarget } from './service.js';

interface Stoppable {
  stop(): Promise<void>;
}

/** Keeps in mind what is to be stopped. */
type Runs = <T extends Stoppable>(running: T) => T;

/** Gives a bench folders and stops what it has started, so that nothing is left afterwards, however it ends. */
export async function inWorkshop<T>(work: (folder: (name: string) => string, runs: Runs) => Promise<T>): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), 'banking-bench-'));
  // As root, the database server runs as another user, who must enter the folder.
  await chmod(home, 0o711);
  try {
    return await withProcesses((runs) => work((name) => join(home, name), runs));
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** Stops what a run has started, the last one first, however it ends. */
export async function withProcesses<T>(work: (runs: Runs) => Promise<T>): Promise<T> {
  const all: Stoppable[] = [];
  try {
    return await work((running) => (all.push(running), running));
  } finally {
    for (const running of all.reverse()) await running.stop();
  }
}

/** Does some work on the server of a data folder, which stays afterwards only if another process uses it. */
export async function onServer<T>(dataDir: string, work: (connection: ConnectionOptions) => Promise<T>): Promise<T> {
  const server = await attachEmbeddedServer({ dataDir });
  try {
    return await work(server.connection);
  } finally {
    await server.detach();
  }
}

async function onDeployment<T>(dataDir: string, work: (deployment: Deployment) => Promise<T>): Promise<T> {
  const deployment = await openDeployment({ dataDir, isSandbox: true, statementTimeoutMs: 10 * 60_000 });
  try {
    return await work(deployment);
  } finally {
    await deployment.close();
  }
}

/** Northwind Trading, of which Ada is an admin in the demo data. */
const WORKSPACE = 1;
const ADA = 'ada@northwind.example';
/** Transactions of one database transaction, two transfers each. */
const BATCH = 500;
const SAMPLE = 300;

const ACCOUNTS = sqlStatement<{ id: bigint; currency_id: number }>(
  'bench_accounts',
  `select id, currency_id from account
   where workspace_id = $1 and kind = 'customer' and status = 'enabled' and balance >= 100 and currency_id = (
     select currency_id from account where workspace_id = $1 and kind = 'customer' and status = 'enabled'
     group by currency_id order by count(*) desc, currency_id limit 1)
   order by balance desc, id limit 1000`,
);
const SAMPLED = sqlStatement<{ id: bigint }>(
  'bench_sample',
  `select t.id from transfer t join account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id)
   where t.workspace_id = $1 and a.kind = 'customer' order by md5(t.id::text) limit $2`,
);

/** Posts so many transfers between accounts of a demo workspace, each to the next and the last to the first. */
export async function postTransfers(
  { books, database }: Deployment,
  transfers: number,
  onProgress: (line: string) => void = () => undefined,
): Promise<void> {
  const [accounts] = await database.pipeline({ workspaces: [WORKSPACE] }, [bind(ACCOUNTS, WORKSPACE)] as const);
  for (let posted = 0; posted < transfers; posted += 2 * BATCH) {
    const proposals = Array.from({ length: Math.min(BATCH, (transfers - posted) / 2) }, (_, index): Proposal => {
      const [from, to] = [accounts[index % accounts.length]!, accounts[(index + 1) % accounts.length]!];
      const common = { amount: parseAmount('1.00', 'USD'), type: 'internal', description: 'Float' };
      const movement = { ...common, currencyId: from.currency_id };
      const legs = [
        { ...movement, account: Number(from.id), direction: 'debit' as const },
        { ...movement, account: Number(to.id), direction: 'credit' as const },
      ];
      return { entries: [{ workspaceId: WORKSPACE, status: 'completed', legs }] };
    });
    (await post(books, proposals)).forEach(requirePosted);
    if (posted > 0 && posted % 100_000 === 0) onProgress(`  ${posted} of ${transfers}`);
  }
}

/**
 * Makes demo data and so many transfers.
 *
 * @returns paths of transfers from all over the books, the same ones for the same books
 */
export function makeBooks(
  dataDir: string,
  transfers: number,
  onProgress: (line: string) => void,
): Promise<readonly string[]> {
  onProgress(`A database with ${transfers} transfers`);
  return onDeployment(dataDir, async (deployment) => {
    await makeDemoData(deployment);
    await postTransfers(deployment, transfers, onProgress);
    await onServer(dataDir, (connection) => analyzeTables(connection, SCHEMA));
    const scope = { workspaces: [WORKSPACE] };
    const [sample] = await deployment.database.pipeline(scope, [bind(SAMPLED, WORKSPACE, SAMPLE)] as const);
    return sample.map(({ id }) => `/transfers/${id}`);
  });
}

/** A payer: an account with funds, and an international recipient in the same currency. */
export interface Payer {
  readonly workspaceId: number;
  readonly accountId: number;
  readonly recipientID: number;
}

/**
 * Who pays in which case: many accounts of one workspace, as many in many workspaces, one account, or the many accounts of a workspace with
 * limits and approval rules that every order is held against and none exceeds.
 */
export type Payers = Readonly<Record<'accounts' | 'workspaces' | 'hot' | 'bounded', readonly Payer[]>>;

/** Enough for more orders than any run places. */
const FUNDS = '10000000000000' as TransferAmount;
const CURRENCY = 'EUR';
const ABROAD = {
  countryCode: 'DE',
  currencyCode: CURRENCY,
  payoutMethod: 'SWIFT',
  data: {
    beneficiaryName: 'Northwind Trading Berlin',
    beneficiaryAddress: 'Uferstrasse 4, 13357 Berlin',
    destinationCountry: 'DE',
    beneficiaryAccountType: 'Corporate',
    beneficiaryCountryCode: 'DE',
    beneficiaryAccountNumber: 'DE89370400440532013000',
    routingCodeType1: 'SWIFT',
    routingCodeValue1: 'DEUTDEFF',
  },
} as const;

/** Above all orders of a run together. */
const ABOVE_ALL = '9000000000000000';
const LIMITS: readonly LimitTerms[] = [
  { scope: 'workspace', metric: 'amount', per: 'day', value: ABOVE_ALL, currency: CURRENCY },
  { scope: 'workspace', metric: 'count', per: 'month', value: ABOVE_ALL },
  { scope: 'role', role: 'member', metric: 'amount', per: 'order', value: ABOVE_ALL, currency: CURRENCY },
];
const RULES: readonly ApprovalRule[] = [
  {
    ...{ operations: 'orders', approvals: 1, roles: ['approver'] },
    amountAbove: [{ currencyCode: CURRENCY, amount: ABOVE_ALL }],
  },
];

/** Makes accounts, workspaces and recipients. */
export function makePayers(dataDir: string, accounts: number, workspaces: number): Promise<Payers> {
  return onDeployment(dataDir, async (deployment) => {
    await makeDemoData(deployment);
    const { database, books } = deployment;
    const demo = await readDemoIds(database);
    const banking = new LedgerBankingService(database, books, { rails: SANDBOX_ROUTING });
    const product = (await banking.listProducts({})).find(({ edges }) => edges.currency?.code === CURRENCY);
    if (!demo || !product) throw new Error('the demo data is not complete');
    const openIn = async (workspaceId: WorkspaceId, count: number): Promise<Payer[]> => {
      const scope = { workspaceId, actor: demo.users[ADA] as UserId };
      const { resource: recipient } = await banking.addInternationalRecipient(scope, ABROAD);
      const payers: Payer[] = [];
      while (payers.length < count) {
        const { resource } = await banking.openAccount(scope, { productID: product.id });
        await banking.fundAccount(scope, { accountId: resource.id, amount: FUNDS });
        payers.push({ workspaceId, accountId: resource.id, recipientID: recipient.id });
      }
      return payers;
    };
    const home = WORKSPACE as WorkspaceId;
    const spread = await openIn(home, accounts);
    const far: Payer[] = [];
    const directory = await deployment.openProvisioning();
    for (let number = 1; number <= workspaces; number += 1) {
      const id = await addWorkspace(directory, 'bench', { app: 'Northwind Treasury', name: `Branch ${number}` });
      await addGrants(directory, 'bench', { workspaceId: id, email: ADA, roles: ['admin', 'member'] });
      far.push(...(await openIn(id as WorkspaceId, Math.ceil(accounts / workspaces))));
    }
    const bounded = (await addWorkspace(directory, 'bench', {
      app: 'Northwind Treasury',
      name: 'Bounded',
    })) as WorkspaceId;
    await addGrants(directory, 'bench', { workspaceId: bounded, email: ADA, roles: ['admin', 'member', 'approver'] });
    await directory.end();
    const under = await openIn(bounded, accounts);
    const scope = { workspaceId: bounded, actor: demo.users[ADA] as UserId };
    await banking.replaceLimits(scope, { version: 0, limits: LIMITS });
    await banking.replaceApprovalRules(scope, { version: 0, rules: RULES });
    return { accounts: spread, workspaces: far, hot: await openIn(home, 1), bounded: under };
  });
}

/** Verifies the books and the payments after a bench. @throws Error if there is a finding */
export function proveBooks(dataDir: string): Promise<void> {
  return onDeployment(dataDir, async ({ database }) => {
    const ids = (await allWorkspaces(database)).map(({ id }) => id);
    const bookedWithoutOrder = await readDemoBookings(database);
    const { findings } = await verifyDeployment(database, ids, { isWhole: true, bookedWithoutOrder });
    if (findings[0]) throw new Error(`${findings.length} faults in the books: ${JSON.stringify(findings[0])}`);
  });
}

/** The body of a successful response. */
export async function bodyOf({ url, headers }: BenchTarget, path: string): Promise<string> {
  const response = await fetch(`${url}${path}`, { headers });
  if (!response.ok) throw new Error(`${path} got ${response.status}`);
  return response.text();
}
