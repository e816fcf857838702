import { type MinorUnits, minorUnits } from '@banking/domain';
import { call, type CallOptions, type Endpoint } from './call.js';

/** An account of the load, with the balance it was funded with. */
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
  /** Of each currency. */
  readonly pool: number;
  readonly owned: number;
}

const CURRENCIES = ['EUR', 'USD', 'GBP'];
const WORKSPACES = [1, 2];
/** Minor units; more than a run spends. */
export const FUNDS = minorUnits(1_000_000_000n);
/** What a payout in EUR to Germany costs, in minor units. */
export const PAYOUT_FEE = minorUnits(1_250n);
/** The least that the corridor accepts. */
export const PAYOUT_AMOUNT = minorUnits(5_000n);

const GERMAN = {
  countryCode: 'DE',
  currencyCode: 'EUR',
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
};

const TOGETHER = 8;

/** The calls that prepare a world, before any fault. */
export class Preparation {
  private readonly products = new Map<string, number>();

  constructor(private readonly endpoint: Endpoint) {}

  async readProducts(workspaceId = 1): Promise<void> {
    const products = await this.send<Product[]>({ method: 'GET', path: '/products', workspaceId });
    for (const { id, edges } of products) this.products.set(edges.currency.code, id);
  }

  async openAccount(workspaceId: number, currency: string, amount: MinorUnits): Promise<LoadAccount> {
    const body = { productID: this.products.get(currency) };
    const { id, code } = await this.send<{ id: number; code: string }>({
      ...{ method: 'POST', path: '/accounts', workspaceId, body },
    });
    const account = { workspaceId, id, currency, code };
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
  async addPayoutRecipient(workspaceId: number, account = GERMAN.data.beneficiaryAccountNumber): Promise<number> {
    const { countryCode, currencyCode, payoutMethod } = GERMAN;
    const data = { ...GERMAN.data, beneficiaryAccountNumber: account };
    const query = `countryCode=${countryCode}&currencyCode=${currencyCode}&payoutMethod=${payoutMethod}`;
    const path = `/recipients/international?${query}`;
    return (await this.send<{ id: number }>({ method: 'POST', path, workspaceId, body: { data } })).id;
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

interface Product {
  readonly id: number;
  readonly edges: { readonly currency: { readonly code: string } };
}

/** Opens and funds all accounts, and adds the recipients that the load pays. */
export async function makeWorld(endpoint: Endpoint, size: WorldSize): Promise<LoadWorld> {
  const preparation = new Preparation(endpoint);
  await preparation.readProducts();
  const workspaceOf = (index: number) => WORKSPACES[index % WORKSPACES.length] as number;
  const wanted = CURRENCIES.flatMap((currency) =>
    Array.from({ length: size.pool }, (_, index) => ({ currency, workspaceId: workspaceOf(index) })),
  );
  const open = ({ workspaceId, currency }: { workspaceId: number; currency: string }) =>
    preparation.openAccount(workspaceId, currency, FUNDS);
  const pool = await together(wanted, open);
  const owners = Array.from({ length: size.owned }, (_, index) => ({
    currency: 'EUR',
    workspaceId: workspaceOf(index),
  }));
  const owned = await together(owners, open);

  const recipients = new Map<string, number>();
  const pairs = WORKSPACES.flatMap((workspaceId) => pool.map((account) => ({ workspaceId, account })));
  await together(pairs, async ({ workspaceId, account }) => {
    recipients.set(`${workspaceId} ${account.id}`, await preparation.addRecipient(workspaceId, account));
  });
  const payouts = new Map<number, number>();
  for (const workspaceId of WORKSPACES) payouts.set(workspaceId, await preparation.addPayoutRecipient(workspaceId));
  return {
    pool,
    owned,
    recipientFor: (workspaceId, { id }) => required(recipients.get(`${workspaceId} ${id}`)),
    payoutRecipient: (workspaceId) => required(payouts.get(workspaceId)),
  };
}

/** Does the work for all of them, a few at a time, in their order. */
async function together<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const takeNext = async () => {
    for (let index = next++; index < all.length; index = next++) results[index] = await work(all[index] as T);
  };
  await Promise.all(Array.from({ length: TOGETHER }, takeNext));
  return results;
}

function required(id: number | undefined): number {
  if (id === undefined) throw new Error('the world has no such recipient');
  return id;
}
