import { assert, asyncProperty, constantFrom, shuffledSubarray } from 'fast-check';
import type { AccountId, PlaceOrderInput, RecipientId, TransactionId, TransferAmount } from '@banking/domain';
import { testOrProve } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { orderWorld, recipientAbroad, type OrderWorld } from '../testing/order-world.js';

let at: OrderWorld;

beforeAll(async () => {
  at = await orderWorld();
});
afterAll(() => at.world.close());

interface Placed {
  readonly accountId: AccountId;
  readonly recipientId: RecipientId;
  /** The transaction of a payout that has begun. */
  readonly payout: TransactionId | undefined;
}

const DELETION = 'the recipient is deleted';
/** A deleted recipient cannot be changed any more. */
const isNoDeletion = (change: string) => change !== DELETION;

/** What may change between an order and its replay. */
const CHANGES: Readonly<Record<string, (placed: Placed) => Promise<unknown>>> = {
  'the alias of the account': ({ accountId }) => at.service.changeAccount(at.ada, { accountId, alias: 'Later' }),
  'the status of the account': ({ accountId }) => at.service.changeAccount(at.ada, { accountId, status: 'disabled' }),
  'the alias of the recipient': ({ recipientId }) =>
    at.service.changeRecipient(at.ada, { recipientId, alias: 'Later', saved: false }),
  'the balance': async ({ accountId }) => {
    await at.service.changeAccount(at.ada, { accountId, status: 'enabled' });
    await at.service.fundAccount(at.ada, { accountId, amount: '1' as TransferAmount });
  },
  'the status of the payout': async ({ payout }) =>
    payout !== undefined && at.service.addTransactionEvent(at.ada, { transactionId: payout, status: 'RJCT' }),
  'the currencies': () => at.world.owner.query(`update currency set name = name || '.', updated_at = now()`),
  'the products': () => at.world.owner.query(`update product set description = 'Later', updated_at = now()`),
  'the banks': () => at.world.owner.query(`update bank set name = name || '.', updated_at = now()`),
  [DELETION]: ({ recipientId }) => at.service.deleteRecipient(at.ada, { recipientId }),
};

it('returns the same bytes for a key, whatever has changed since the order', async () => {
  const euro = (await at.service.listProducts()).find(({ edges }) => edges.currency.code === 'EUR')!.id;
  const changes = shuffledSubarray(Object.keys(CHANGES), { minLength: 1 });
  const kinds = constantFrom('near', 'abroad', 'scheduled');
  const law = asyncProperty(kinds, changes, async (kind, names) => {
    const accountId = await at.account(euro, '100000');
    const recipientId =
      kind === 'near'
        ? await at.near(await at.account(euro, '0'))
        : await recipientAbroad(at.service, at.ada, 'DE89370400440532013000');
    const later = { type: 'scheduled', startAt: '2099-01-01T00:00:00Z' } as Partial<PlaceOrderInput>;
    const input = at.order(accountId, recipientId, {
      amount: '5000' as TransferAmount,
      ...(kind !== 'near' && { purposeCode: 'IR001' }),
      ...(kind === 'scheduled' && later),
    });
    const key = at.key();
    const first = await at.service.placeOrder(at.ada, input, key);
    const payout = kind === 'abroad' ? first.resource.edges.executions?.[0]?.edges.transaction?.id : undefined;
    for (const name of [...names.filter(isNoDeletion), ...names.filter((each) => !isNoDeletion(each))])
      await CHANGES[name]!({ accountId, recipientId, payout });

    // Another process has the reference data of now.
    const other = new LedgerBankingService(at.world.database, at.world.books, { hasPayoutNetwork: true });
    const replay = await other.placeOrder(at.ada, input, key);

    expect(replay.isReplay).toBe(true);
    expect(JSON.stringify(replay.resource)).toBe(JSON.stringify(first.resource));
  });
  await assert(law, { numRuns: testOrProve(8, 60) });
});
