import { type MinorUnits, minorUnits } from '@banking/domain';
import type { SentOrder } from './client-log.js';
import { call, type CallOptions, type Endpoint } from './orders.js';

export interface LoadAccount {
  readonly workspaceId: number;
  readonly id: number;
  readonly currency: string;
  readonly code: string;
}

/** Accounts that pay each other, and accounts that one client each pays from and that receive nothing. */
export interface LoadWorld {
  readonly pool: readonly LoadAccount[];
  readonly owned: readonly LoadAccount[];
  /** The recipient for an account, in the workspace of the payer. */
  recipientFor(workspaceId: number, account: LoadAccount): number;
  /** The recipient of payouts in EUR. */
  payoutRecipient(workspaceId: number): number;
}

export interface WorldSize {
  readonly pool: number;
  readonly owned: number;
  readonly currencies?: readonly string[];
  readonly workspaces?: readonly number[];
}

/** Minor units; more than a run spends. */
export const FUNDS = minorUnits(1_000_000_000n);
/** What a payout in EUR to Germany costs, in minor units. */
export const PAYOUT_FEE = minorUnits(1_250n);
/** The least that the corridor accepts. */
export const PAYOUT_AMOUNT = minorUnits(5_000n);

export const GERMANY = '/recipients/international?countryCode=DE&currencyCode=EUR&payoutMethod=SWIFT';
export const BENEFICIARY = {
  beneficiaryName: 'Northwind Trading Berlin',
  beneficiaryAddress: 'Uferstrasse 4, 13357 Berlin',
  destinationCountry: 'DE',
  beneficiaryAccountType: 'Corporate',
  beneficiaryCountryCode: 'DE',
  beneficiaryAccountNumber: 'DE89370400440532013000',
  routingCodeType1: 'SWIFT',
  routingCodeValue1: 'DEUTDEFF',
};

const TOGETHER = 8;

/** The calls that prepare a world, before any fault. */
export class Preparation {
  private products: Promise<ReadonlyMap<string, number>> | undefined;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly firstWorkspace = 1,
  ) {}

  async productOf(currency: string): Promise<number | undefined> {
    const path = '/products';
    this.products ??= this.send<Product[]>({ method: 'GET', path, workspaceId: this.firstWorkspace }).then(
      (products) => new Map(products.map(({ id, edges }) => [edges.currency.code, id])),
    );
    return (await this.products).get(currency);
  }

  async openAccount(workspaceId = this.firstWorkspace, currency = 'EUR', amount = FUNDS): Promise<LoadAccount> {
    const body = { productID: await this.productOf(currency) };
    const opened = await this.send<LoadAccount>({ method: 'POST', path: '/accounts', workspaceId, body });
    const account = { workspaceId, id: opened.id, currency, code: opened.code };
    await this.fund(account, amount);
    return account;
  }

  async fund({ workspaceId, id }: LoadAccount, amount: MinorUnits): Promise<void> {
    const path = `/sandbox/accounts/${id}/fundings`;
    await this.send({ method: 'POST', path, workspaceId, body: { amount: String(amount) } });
  }

  /** The account takes no payments from then on. */
  async disable({ workspaceId, id }: LoadAccount): Promise<void> {
    await this.send({ method: 'PATCH', path: `/accounts/${id}`, workspaceId, body: { status: 'disabled' } });
  }

  async addRecipient(workspaceId: number, { code }: LoadAccount): Promise<number> {
    const body = { accountCode: code, name: 'An account of the load', saved: false };
    return (await this.send<{ id: number }>({ method: 'POST', path: '/recipients/internal', workspaceId, body })).id;
  }

  /** @param account the number, whose end decides what the network of the sandbox does */
  async addPayoutRecipient(workspaceId = 1, account = BENEFICIARY.beneficiaryAccountNumber): Promise<number> {
    const body = { data: { ...BENEFICIARY, beneficiaryAccountNumber: account } };
    return (await this.send<{ id: number }>({ method: 'POST', path: GERMANY, workspaceId, body })).id;
  }

  /** An account with money, and a recipient that it pays: another account, or one abroad. */
  async pair(isPayout = false): Promise<Payment> {
    const payer = await this.openAccount();
    const { workspaceId, id: accountId } = payer;
    const recipientId = isPayout
      ? await this.addPayoutRecipient(workspaceId)
      : await this.addRecipient(workspaceId, await this.openAccount());
    return { workspaceId, accountId, recipientId, isPayout, amount: isPayout ? String(PAYOUT_AMOUNT) : '5' };
  }

  /** @throws Error for any response that is no success */
  private async send<T>(options: Omit<CallOptions, 'api'>): Promise<T> {
    const { status, body, error } = await call(this.endpoint, { api: 0, ...options });
    if (status === undefined || status >= 300) {
      throw new Error(`${options.method} ${options.path} failed: ${status ?? error} ${body.slice(0, 300)}`);
    }
    return JSON.parse(body) as T;
  }
}

export type Payment = Omit<SentOrder, 'key'>;

interface Product {
  readonly id: number;
  readonly edges: { readonly currency: { readonly code: string } };
}

/** Opens and funds all accounts, and adds the recipients that the load pays. */
export async function makeWorld(
  endpoint: Endpoint,
  { pool: size, owned: clients, currencies = ['EUR', 'USD', 'GBP'], workspaces = [1, 2] }: WorldSize,
): Promise<LoadWorld> {
  const preparation = new Preparation(endpoint, workspaces[0]);
  const accounts = (count: number, currency: string) =>
    together(Array.from({ length: count }), (_, index) =>
      preparation.openAccount(workspaces[index % workspaces.length], currency),
    );
  const pool: LoadAccount[] = [];
  for (const currency of currencies) pool.push(...(await accounts(size, currency)));
  const owned = await accounts(clients, 'EUR');
  const recipients = new Map<string, number>();
  const pairs = workspaces.flatMap((workspaceId) => pool.map((account) => ({ workspaceId, account })));
  await together(pairs, async ({ workspaceId, account }) => {
    recipients.set(`${workspaceId} ${account.id}`, await preparation.addRecipient(workspaceId, account));
  });
  const payouts = new Map<number, number>();
  for (const workspaceId of workspaces) payouts.set(workspaceId, await preparation.addPayoutRecipient(workspaceId));
  return {
    pool,
    owned,
    recipientFor: (workspaceId, { id }) => recipients.get(`${workspaceId} ${id}`)!,
    payoutRecipient: (workspaceId) => payouts.get(workspaceId)!,
  };
}

/** Does the work for all of them, a few at a time, in their order. */
export async function together<T, R>(all: readonly T[], work: (one: T, index: number) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const takeNext = async () => {
    for (let index = next++; index < all.length; index = next++) results[index] = await work(all[index]!, index);
  };
  await Promise.all(Array.from({ length: TOGETHER }, takeNext));
  return results;
}
