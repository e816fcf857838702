import { randomUUID } from 'node:crypto';
import type {
  AccountId,
  BankingService,
  PlaceOrderInput,
  ProductId,
  RecipientId,
  TransferAmount,
  UserId,
  WorkspaceId,
} from '@banking/domain';
import { addGrant, addWorkspace } from '@banking/operations/provisioning';
import { DEMO_RATES } from '@banking/rates';
import { LedgerBankingService, OrderService, placeOrder } from '@banking/operations';
import { openDeployment, type Deployment } from '@banking/deployment';
import { makeDemoData, readDemoIds } from '@banking/operations/demo';

/** A payer: an account with funds, and an international recipient in the same currency. */
export interface Payer {
  readonly workspaceId: WorkspaceId;
  readonly accountId: AccountId;
  readonly recipientID: RecipientId;
}

/** Who pays in which case. */
export interface Payers {
  /** Many accounts of one workspace. */
  readonly accounts: readonly Payer[];
  /** As many, or a few more, in many workspaces. */
  readonly workspaces: readonly Payer[];
  /** One. */
  readonly hot: readonly Payer[];
}

/** The least the corridor takes; it costs 12.50, and no rate is asked for. */
const AMOUNT = '5000' as TransferAmount;
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

const ACTOR = 'bench';
const APP = 'Northwind Treasury';
const ADA = 'ada@northwind.example';

/** The number of concurrent requests of the preparation. */
const TOGETHER = 8;
const ORDERS_TOGETHER = 64;

export interface PayersOptions {
  readonly accounts: number;
  readonly workspaces: number;
  /** How many of the payers of each case place two orders, so that no table is empty when it is analyzed. Default all. */
  readonly placing?: number;
}

/** Makes accounts, workspaces and recipients. */
export async function makePayers(dataDir: string, { accounts, workspaces, placing }: PayersOptions): Promise<Payers> {
  const deployment = await openDeployment({ dataDir, isSandbox: true });
  await makeDemoData(deployment);
  const directory = await deployment.openProvisioning();
  try {
    const { database, books } = deployment;
    const demo = await readDemoIds(database);
    const banking = new LedgerBankingService(database, books, { hasPayoutNetwork: true });
    const actor = demo?.users[ADA] as UserId;
    const product = (await banking.listProducts()).find(({ edges }) => edges.currency?.code === CURRENCY);
    if (!product) throw new Error(`there is no product in ${CURRENCY}`);

    const openIn = (workspaceId: WorkspaceId, count: number) =>
      openAccounts(banking, { workspaceId, actor }, product.id, count);
    const home = demo?.workspaces['Northwind Trading'] as WorkspaceId;
    const hot = await openIn(home, 1);
    const spread = await openIn(home, accounts);
    const far: Payer[] = [];
    for (let number = 1; number <= workspaces; number += 1) {
      const id = await addWorkspace(directory, ACTOR, { app: APP, name: `Branch ${number}` });
      await addGrant(directory, ACTOR, { workspaceId: id, email: ADA, role: 'admin' });
      far.push(...(await openIn(id as WorkspaceId, Math.ceil(accounts / workspaces))));
    }
    await placeSome(
      deployment,
      [spread, far, hot].flatMap((payers) => payers.slice(0, placing)),
    );
    return { accounts: spread, workspaces: far, hot };
  } finally {
    await directory.end();
    await deployment.close();
  }
}

/** Accounts with funds in one workspace, which share a recipient. */
export async function openAccounts(
  banking: BankingService,
  scope: { readonly workspaceId: WorkspaceId; readonly actor?: UserId },
  productID: ProductId,
  count: number,
): Promise<Payer[]> {
  const { resource: recipient } = await banking.addInternationalRecipient(scope, ABROAD);
  return inTurns(Array.from({ length: count }), TOGETHER, async () => {
    const { resource: account } = await banking.openAccount(scope, { productID });
    await banking.fundAccount(scope, { accountId: account.id, amount: FUNDS });
    return { workspaceId: scope.workspaceId, accountId: account.id, recipientID: recipient.id };
  });
}

async function placeSome({ books }: Deployment, payers: readonly Payer[]): Promise<void> {
  const service = new OrderService(books, DEMO_RATES, { hasPayoutNetwork: true });
  await inTurns([...payers, ...payers], ORDERS_TOGETHER, (payer) => place(service, payer));
}

async function inTurns<T, R>(items: readonly T[], together: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += together) {
    results.push(...(await Promise.all(items.slice(from, from + together).map(work))));
  }
  return results;
}

/** The order of a payer, as the body of a request or the input of a call. */
export const orderOf = ({ recipientID }: Payer) =>
  ({
    amount: AMOUNT,
    recipientID,
    type: 'instant',
    purposeCode: 'IR001',
    description: 'Invoice 4711',
  }) satisfies Partial<PlaceOrderInput>;

/** Places an order with a key of its own. @throws Error unless it was placed and carried out */
export async function place(service: OrderService, payer: Payer): Promise<void> {
  const { workspaceId, accountId } = payer;
  const input: PlaceOrderInput = { ...orderOf(payer), accountId };
  const { resource, isReplay } = await placeOrder(service, { workspaceId, actor: undefined }, input, {
    idempotencyKey: randomUUID(),
  });
  if (isReplay || resource.status !== 'completed') throw new Error(`order ${resource.id} was not carried out`);
}

/** One of them, as good as any other. */
export function anyOf<T>(all: readonly T[]): T {
  const one = all[Math.floor(Math.random() * all.length)];
  if (one === undefined) throw new Error('there is nothing to choose from');
  return one;
}
