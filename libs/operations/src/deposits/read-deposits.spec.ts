import { Refusal } from '@banking/domain';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { BANK_ACCOUNT, depositWorld, type DepositWorld, type OpenedAccount } from '../testing/deposit-world.js';

let at: DepositWorld;
let mine: OpenedAccount;
let ids: number[];

beforeAll(async () => {
  at = await depositWorld();
  mine = await at.open(at.north);
  for (let count = 0; count < 3; count += 1) await at.entry({ remittance: mine.code, amount: 100 + count });
  await at.entry({ remittance: 'nothing' });
  await at.work();
  await at.entry({ remittance: mine.code, status: 'pending' });
  await at.work();
  ids = (await at.deposits()).filter(({ account }) => account === mine.id).map(({ id }) => id);
});
afterAll(() => at.close());

const scope = () => ({ workspaceId: at.north });
const reasonOf = (call: Promise<unknown>) =>
  call.then(
    () => 'none',
    (error: Refusal) => error.reason,
  );

describe('a deposit', () => {
  it('is read with its account and the transaction that credited it', async () => {
    const { transaction } = (await at.deposits()).find(({ id }) => id === ids[0])!;

    const deposit = await at.service.getDeposit(scope(), { depositId: ids[0]! });

    expect(deposit).toMatchObject({
      ...{ id: ids[0], amount: '100', status: 'booked', reference: mine.code, valueDate: '2026-11-27' },
      payer: { name: 'Ada Payer', account: 'DE02120300000000202051' },
      edges: { account: { id: mine.id }, transaction: { id: transaction, status: 'completed' } },
    });
    expect(deposit.edges.transaction?.edges.transfers).toHaveLength(1);
    const { items } = await at.service.listDeposits(scope(), { accountId: mine.id });
    expect(items.find(({ id }) => id === ids[0])).toEqual(deposit);
  });

  it('has no transaction while it is pending', async () => {
    const [pending] = (await at.service.listDeposits(scope(), { accountId: mine.id, status: 'pending' })).items;

    expect(pending).toMatchObject({ status: 'pending', amount: '1250' });
    expect(pending?.edges).not.toHaveProperty('transaction');
    expect(await at.service.getDeposit(scope(), { depositId: pending!.id })).toEqual(pending);
  });

  it('is not found by another workspace', async () => {
    const other = { workspaceId: at.south };

    expect(await reasonOf(at.service.getDeposit(other, { depositId: ids[0]! }))).toBe('deposit_not_found');
    expect(await reasonOf(at.service.listDeposits(other, { accountId: mine.id }))).toBe('account_not_found');
    expect((await at.service.listDeposits(other)).items).toEqual([]);
  });
});

describe('the list of deposits', () => {
  it('has all of them, newest first, in pages', async () => {
    const listed: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await at.service.listDeposits(scope(), { accountId: mine.id, limit: 1, cursor });
      listed.push(...page.items.map(({ id }) => id));
      cursor = page.next;
    } while (cursor !== undefined);

    expect([...listed].sort()).toEqual([...ids].sort());
    const times = (await at.service.listDeposits(scope())).items.map(({ createdAt }) => createdAt);
    expect(times).toEqual([...times].sort().reverse());
  });

  it('is filtered by status and period', async () => {
    const { items } = await at.service.listDeposits(scope(), { status: 'unmatched' });

    expect(items.map(({ edges }) => edges.account.id)).toEqual([at.suspense.id]);
    expect((await at.service.listDeposits(scope(), { createdTo: '2020-01-01T00:00:00Z' })).items).toEqual([]);
    expect((await at.service.listDeposits(scope(), { createdFrom: '2020-01-01T00:00:00Z' })).items).not.toEqual([]);
  });
});

describe('the receiving details of an account', () => {
  const number = {
    ...{ rail: 'bank-b', currency: 'USD', id: '000123456789', isIban: false },
    bic: 'CHASUS33',
    holder: 'Harbour',
  };

  it('are those of each bank account in its currency, with its code', async () => {
    const service = new LedgerBankingService(at.database, at.books, { bankAccounts: [...at.receiving, number] }, true);
    const dollars = await at.open(at.north, 'USD');
    const details = (account: OpenedAccount) => service.listReceivingDetails(scope(), { accountId: account.id });

    expect(await details(mine)).toEqual([
      { holder: 'Harbour', iban: BANK_ACCOUNT, bic: 'COBADEFFXXX', currency: 'EUR', reference: mine.code },
    ]);
    expect(await details(dollars)).toEqual([
      { holder: 'Harbour', accountNumber: '000123456789', bic: 'CHASUS33', currency: 'USD', reference: dollars.code },
    ]);
  });

  it('are none without bank accounts, and not found of another workspace', async () => {
    expect(await at.service.listReceivingDetails(scope(), { accountId: mine.id })).toEqual([]);
    const other = at.service.listReceivingDetails({ workspaceId: at.south }, { accountId: mine.id });
    expect(await reasonOf(other)).toBe('account_not_found');
  });
});
