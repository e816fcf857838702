import type { AccountId, Order, RecipientId, TransferAmount } from '@banking/domain';
import type { DbTransaction } from '@banking/postgres';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { orderWorld, recipientAbroad, type OrderWorld } from '../testing/order-world.js';
import { sentBy } from '../testing/aged-workspaces.js';

let at: OrderWorld;
let euro: number;

beforeAll(async () => {
  at = await orderWorld();
  euro = (await at.service.listProducts()).find(({ edges }) => edges.currency.code === 'EUR')!.id;
});
afterAll(() => at.world.close());

interface Parties {
  readonly accountId: AccountId;
  readonly recipientId: RecipientId;
}

const place = (service: LedgerBankingService, { accountId, recipientId }: Parties, more = {}) =>
  service.placeOrder(
    at.ada,
    at.order(accountId, recipientId, { amount: '5000' as TransferAmount, purposeCode: 'IR001', ...more }),
    at.key(),
  );

const payee = async (): Promise<RecipientId> => at.near(await at.account(euro, '0', at.eve), at.ada, at.eve);
const abroad = () => recipientAbroad(at.service, at.ada, 'DE89370400440532013000');

async function parties(recipient: () => Promise<RecipientId>): Promise<Parties> {
  return { accountId: await at.account(euro, '100000'), recipientId: await recipient() };
}

/** What an order and its refusal depend on. */
const seenIn = ({ edges: { account, recipient, executions } }: Order) => ({
  recipient,
  account: { ...account, edges: { ...account?.edges, balances: [] }, updatedAt: '' },
  transfers: executions?.[0]?.edges.transaction?.edges.transfers?.map(({ amount, type, feeAmount }) => [
    amount,
    type,
    feeAmount,
  ]),
});

const outcomeOf = (service: LedgerBankingService, named: Parties) =>
  place(service, named).then(
    ({ resource }) => seenIn(resource),
    ({ reason, message }: { reason: string; message: string }) => ({ reason, message }),
  );

const sql = (text: string, values: unknown[] = []) => at.world.owner.query(text, values);
const forEach = (change: string, back: string) => ({ make: () => sql(change), undo: () => sql(back) });

/** What may change between two orders of the same account to the same recipient. */
const CHANGES: Readonly<Record<string, { make: (named: Parties) => Promise<unknown>; undo?: () => Promise<unknown> }>> =
  {
    'the alias of the recipient': {
      make: ({ recipientId }) => at.service.changeRecipient(at.ada, { recipientId, alias: 'Later', saved: false }),
    },
    'the recipient is deleted': { make: ({ recipientId }) => at.service.deleteRecipient(at.ada, { recipientId }) },
    'the status of the account': {
      make: ({ accountId }) => at.service.changeAccount(at.ada, { accountId, status: 'disabled' }),
    },
    'the corridors are disabled': forEach('update corridor set enabled = false', 'update corridor set enabled = true'),
    'the limits of the corridors': forEach(
      'update corridor set minimum_amount = minimum_amount + 1000000',
      'update corridor set minimum_amount = minimum_amount - 1000000',
    ),
    'the name of the beneficiary': {
      make: ({ recipientId }) =>
        sql(
          `update beneficiary set data = data || '{"beneficiaryAddress": "Later"}', updated_at = '2099-01-01' where recipient_id = $1`,
          [recipientId],
        ),
    },
  };

describe.each([
  ['abroad', abroad],
  ['to another workspace', payee],
])('an order %s of a service that has placed one before', (_, recipient) => {
  it('is placed in two round trips', async () => {
    const named = await parties(recipient);
    await place(at.service, named);

    let roundTrips = 0;
    const counted =
      <Call extends (...args: never[]) => unknown>(call: Call) =>
      (...args: Parameters<Call>) => {
        roundTrips += 1;
        return call(...args);
      };
    const { database } = at.world;
    const transaction = database.transaction.bind(database);
    const spied = jest.spyOn(database, 'transaction').mockImplementation((scope, work, options) =>
      transaction(
        scope,
        (tx) =>
          work({
            pipeline: counted(tx.pipeline.bind(tx)),
            change: counted(tx.change.bind(tx)),
            commit: counted(tx.commit.bind(tx)),
          } as DbTransaction),
        options,
      ),
    );
    const sent = await sentBy(database, () => place(at.service, named)).finally(() => spied.mockRestore());

    expect(sent.map(({ statement }) => statement.name)).not.toContain('read_payment_facts');
    expect(roundTrips).toBe(2);
  });

  it.each(Object.entries(CHANGES))('is decided on the present facts: %s', async (_change, { make, undo }) => {
    const named = await parties(recipient);
    const before = seenIn((await place(at.service, named)).resource);

    await make(named);
    const outcome = await outcomeOf(at.service, named);
    const expected = await outcomeOf(
      new LedgerBankingService(at.world.database, at.world.books, { hasPayoutNetwork: true }),
      named,
    ).finally(() => undo?.());

    expect(outcome).toEqual(expected);
    if (recipient === abroad) expect(outcome).not.toEqual(before);
  });

  it('returns the first response for its key, whatever has changed', async () => {
    const named = await parties(recipient);
    const input = at.order(named.accountId, named.recipientId, {
      amount: '5000' as TransferAmount,
      purposeCode: 'IR001',
    });
    const key = at.key();
    const first = await at.service.placeOrder(at.ada, input, key);
    await at.service.deleteRecipient(at.ada, named);

    expect(await at.service.placeOrder(at.ada, input, key)).toEqual({ resource: first.resource, isReplay: true });
  });
});

it.each<[string, (named: Parties) => Promise<unknown>, object?]>([
  ['the recipient was deleted', ({ recipientId }) => at.service.deleteRecipient(at.ada, { recipientId })],
  ['the account was disabled', ({ accountId }) => at.service.changeAccount(at.ada, { accountId, status: 'disabled' })],
  ['the amount is too small', () => Promise.resolve(), { amount: '1' }],
])('refuses a used external reference first, also if %s', async (_, change, more = {}) => {
  const named = await parties(abroad);
  const externalReference = `R-${named.accountId}`;
  await place(at.service, named, { externalReference });

  await change(named);

  await expect(place(at.service, named, { externalReference, ...more })).rejects.toMatchObject({
    reason: 'external_reference_reused',
  });
});

it('reads the clock for the schedule of each order', async () => {
  const named = await parties(abroad);
  await place(at.service, named);

  const past = { type: 'scheduled', startAt: '2020-01-01T00:00:00Z' };
  await expect(place(at.service, named, past)).rejects.toMatchObject({ reason: 'schedule_invalid' });
});

it('leaves the books in order', () => at.expectInOrder());
