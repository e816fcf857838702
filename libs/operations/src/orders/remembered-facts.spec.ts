import { assert, asyncProperty, constantFrom, shuffledSubarray } from 'fast-check';
import type {
  AccountId,
  Order,
  OrderId,
  PlaceOrderInput,
  RecipientId,
  TransactionId,
  TransferAmount,
} from '@banking/domain';
import { SANDBOX_ROUTING } from '@banking/payouts';
import { sql as rawSql, testOrProve } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { orderWorld, type OrderWorld, recipientAbroad, roundTripsOf } from '../testing/order-world.js';

let given: OrderWorld;

beforeAll(async () => {
  given = await orderWorld();
});

afterAll(() => given.world.close());

describe('remembered facts', () => {
  let euro: number;

  beforeAll(async () => {
    euro = (await given.service.listProducts({})).find(({ edges }) => edges.currency.code === 'EUR')!.id;
  });

  interface Parties {
    readonly accountId: AccountId;
    readonly recipientId: RecipientId;
  }

  const place = (service: LedgerBankingService, { accountId, recipientId }: Parties, more = {}) =>
    service.placeOrder(
      given.ada,
      given.order(accountId, recipientId, { amount: '5000' as TransferAmount, purposeCode: 'IR001', ...more }),
      given.key(),
    );

  const payee = async (): Promise<RecipientId> =>
    given.near(await given.account(euro, '0', given.eve), given.ada, given.eve);

  const abroad = () => recipientAbroad(given.service, given.ada, 'DE89370400440532013000');

  async function parties(recipient: () => Promise<RecipientId>): Promise<Parties> {
    return { accountId: await given.account(euro, '100000'), recipientId: await recipient() };
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

  const sql = (text: string, values: unknown[] = []) => given.world.owner.query(text, values);
  const forEach = (change: string, back: string) => ({ make: () => sql(change), undo: () => sql(back) });

  /** What may change between two orders of the same account to the same recipient. */
  const CHANGES: Readonly<
    Record<string, { make: (named: Parties) => Promise<unknown>; undo?: () => Promise<unknown> }>
  > = {
    'the alias of the recipient': {
      make: ({ recipientId }) =>
        given.service.changeRecipient(given.ada, { recipientId, alias: 'Later', saved: false }),
    },
    'the recipient is deleted': {
      make: ({ recipientId }) => given.service.deleteRecipient(given.ada, { recipientId }),
    },
    'the status of the account': {
      make: ({ accountId }) => given.service.changeAccount(given.ada, { accountId, status: 'disabled' }),
    },
    'the corridors are disabled': forEach('update corridor set enabled = false', 'update corridor set enabled = true'),
    'the limits of the corridors': forEach(
      'update corridor set minimum_amount = minimum_amount + 1000000',
      'update corridor set minimum_amount = minimum_amount - 1000000',
    ),
    'the name of the beneficiary': {
      // Only an erasure changes it, which waits for years after a payment.
      make: ({ recipientId }) =>
        sql(
          `begin; set local session_replication_role = replica;
           update beneficiary set data = data || '{"beneficiaryAddress": "Later"}', updated_at = '2099-01-01' where recipient_id = ${recipientId};
           commit`,
        ),
    },
  };

  describe.each([
    ['abroad', abroad],
    ['to another workspace', payee],
  ])('an order %s of a service that has placed one before', (_, recipient) => {
    it('is placed in one round trip', async () => {
      const named = await parties(recipient);
      await place(given.service, named);

      const { names, roundTrips } = await roundTripsOf(given.world.database, () => place(given.service, named));

      expect(names).not.toContain('read_payment_facts');
      expect(names).toContain('hold_accounts');
      expect(roundTrips).toBe(1);
    });

    it.each(Object.entries(CHANGES))('is decided on the present facts: %s', async (_change, { make, undo }) => {
      const named = await parties(recipient);
      const before = seenIn((await place(given.service, named)).resource);

      await make(named);
      const outcome = await outcomeOf(given.service, named);
      const expected = await outcomeOf(
        new LedgerBankingService(given.world.database, given.world.books, { rails: SANDBOX_ROUTING }),
        named,
      ).finally(() => undo?.());

      expect(outcome).toEqual(expected);
      if (recipient === abroad) expect(outcome).not.toEqual(before);
    });

    it('returns the first response for its key, whatever has changed', async () => {
      const named = await parties(recipient);
      const input = given.order(named.accountId, named.recipientId, {
        amount: '5000' as TransferAmount,
        purposeCode: 'IR001',
      });
      const key = given.key();
      const first = await given.service.placeOrder(given.ada, input, key);
      await given.service.deleteRecipient(given.ada, named);

      expect(await given.service.placeOrder(given.ada, input, key)).toEqual({
        resource: first.resource,
        isReplay: true,
      });
    });
  });

  it.each<[string, (named: Parties) => Promise<unknown>, object?]>([
    ['the recipient was deleted', ({ recipientId }) => given.service.deleteRecipient(given.ada, { recipientId })],
    [
      'the account was disabled',
      ({ accountId }) => given.service.changeAccount(given.ada, { accountId, status: 'disabled' }),
    ],
    ['the amount is too small', () => Promise.resolve(), { amount: '1' }],
  ])('refuses a used external reference first, also if %s', async (_, change, more = {}) => {
    const named = await parties(abroad);
    const externalReference = `R-${named.accountId}`;
    await place(given.service, named, { externalReference });

    await change(named);

    await expect(place(given.service, named, { externalReference, ...more })).rejects.toMatchObject({
      reason: 'external_reference_reused',
    });
  });

  it('reads the clock for the schedule of each order', async () => {
    const named = await parties(abroad);
    await place(given.service, named);

    const past = { type: 'scheduled', startAt: '2020-01-01T00:00:00Z' };
    await expect(place(given.service, named, past)).rejects.toMatchObject({ reason: 'schedule_invalid' });
  });

  it('leaves the books in order', () => given.expectInOrder());
});

describe('the versions of a payment', () => {
  let abroad: RecipientId;
  let near: RecipientId;
  let code: string;

  beforeAll(async () => {
    const { service, ada, eve } = given;
    abroad = await recipientAbroad(service, ada, 'DE89370400440532013000');
    const accountId = await given.account(1, '0', eve);
    near = await given.near(accountId, ada, eve);
    code = (await service.getAccount(eve, { accountId })).code!;
  });

  const versions = async () => {
    const { rows } = await given.world.owner.query<{ versions: string }>(
      'select versions from payment_versions(array[$1, $1]::bigint[], array[$2, $3]::bigint[]) order by place',
      [given.ada.workspaceId, abroad, near],
    );
    return rows.map((row) => row.versions);
  };

  it.each<[string, string, ('abroad' | 'near')[]]>([
    ['a recipient', `update recipient set alias = 'Later' where forgotten_at is null`, ['abroad', 'near']],
    [
      'a recipient that is deleted',
      'update recipient set forgotten_at = now() where forgotten_at is null',
      ['abroad', 'near'],
    ],
    ['a beneficiary', 'update beneficiary set updated_at = now()', ['abroad']],
    ['a corridor', 'update corridor set enabled = not enabled', ['abroad']],
    ['a currency', `update currency set name = name || '.'`, ['abroad', 'near']],
    ['a bank', `update bank set name = name || '.'`, ['abroad', 'near']],
    ['the account of a code', 'update account_code set account_id = account_id where code = $1', ['near']],
    [
      'the database of the payee',
      `insert into cell_workspace (workspace_id, state) select workspace_id, 'gone' from account_code where code = $1
       on conflict (workspace_id) do update set state = 'gone'`,
      ['near'],
    ],
  ])('change with %s', async (_, change, kinds) => {
    const { owner } = given.world;
    const before = await versions();
    await owner.query('begin');
    try {
      await owner.query(change, change.includes('$1') ? [code] : []);
      const after = await versions();
      expect([after[0] !== before[0], after[1] !== before[1]]).toEqual([
        kinds.includes('abroad'),
        kinds.includes('near'),
      ]);
    } finally {
      await owner.query('rollback');
    }
    expect(await versions()).toEqual(before);
  });
});

describe('replays', () => {
  interface Placed {
    readonly accountId: AccountId;
    readonly recipientId: RecipientId;
    readonly orderId: OrderId;
    readonly kind: string;
    /** The account that is paid, if it is one of the workspace. */
    readonly payeeId: AccountId | undefined;
    /** The transaction of a payout that has begun. */
    readonly payout: TransactionId | undefined;
  }

  const DELETION = 'the recipient is deleted';

  /** A deleted recipient cannot be changed any more. */
  const isNoDeletion = (change: string) => change !== DELETION;

  /** What may change between an order and its replay. */
  const CHANGES: Readonly<Record<string, (placed: Placed) => Promise<unknown>>> = {
    'the alias of the account': ({ accountId }) =>
      given.service.changeAccount(given.ada, { accountId, alias: 'Later' }),
    'the status of the account': ({ accountId }) =>
      given.service.changeAccount(given.ada, { accountId, status: 'disabled' }),
    'the alias of the recipient': ({ recipientId }) =>
      given.service.changeRecipient(given.ada, { recipientId, alias: 'Later', saved: false }),
    'the balance': async ({ accountId }) => {
      await given.service.changeAccount(given.ada, { accountId, status: 'enabled' });
      await given.service.fundAccount(given.ada, { accountId, amount: '1' as TransferAmount });
    },
    'the status of the payout': async ({ payout }) =>
      payout !== undefined && given.service.addTransactionEvent(given.ada, { transactionId: payout, status: 'RJCT' }),
    'the account that was paid': async ({ payeeId }) => {
      if (payeeId === undefined) return;
      await given.service.changeAccount(given.ada, { accountId: payeeId, alias: 'Paid', status: 'disabled' });
      await given.service.changeAccount(given.ada, { accountId: payeeId, status: 'enabled' });
      await given.service.fundAccount(given.ada, { accountId: payeeId, amount: '1' as TransferAmount });
    },
    'a run of the order fails': ({ kind, orderId }) =>
      given.world.owner.query(
        `update execution set status = 'failed', failure_code = 'insufficient_funds', failure_message = 'Later'
         where order_id = $1 and status = 'scheduled' and $2 = 'scheduled'
           and exists (select from customer_order o where o.id = order_id and o.paused_at is null)`,
        [orderId, kind],
      ),
    'the order is resumed by another user, and paused again': async ({ kind, orderId }) => {
      if (kind !== 'scheduled') return;
      const where = `where id = ${orderId} and status = 'active'`;
      const pause = `update customer_order set paused_at = now(), pause_reason = 'placer_without_role' ${where}`;
      const resume = `update customer_order o set paused_at = null, pause_reason = null, placed_by = (
        select r.user_id from workspace_role r where r.workspace_id = o.workspace_id and r.role = 'member' and r.user_id <> o.placed_by limit 1) ${where}`;
      for (const change of [pause, resume, pause])
        await given.world.database.pipeline({ workspaces: [given.ada.workspaceId] }, [rawSql(change)]);
    },
    'the order ends': async ({ kind, accountId, orderId }) =>
      kind === 'scheduled' && given.service.cancelOrder(given.ada, { accountId, orderId }),
    'the currencies': () => given.world.owner.query(`update currency set name = name || '.', updated_at = now()`),
    'the products': () => given.world.owner.query(`update product set description = 'Later', updated_at = now()`),
    'the banks': () => given.world.owner.query(`update bank set name = name || '.', updated_at = now()`),
    [DELETION]: ({ recipientId }) => given.service.deleteRecipient(given.ada, { recipientId }),
  };

  it('returns the same bytes for a key, whatever has changed since the order', async () => {
    const euro = (await given.service.listProducts({})).find(({ edges }) => edges.currency.code === 'EUR')!.id;
    const changes = shuffledSubarray(Object.keys(CHANGES), { minLength: 1 });
    const kinds = constantFrom('near', 'abroad', 'scheduled');
    const law = asyncProperty(kinds, changes, async (kind, names) => {
      const accountId = await given.account(euro, '100000');
      const payeeId = kind === 'near' ? await given.account(euro, '0') : undefined;
      const recipientId =
        payeeId === undefined
          ? await recipientAbroad(given.service, given.ada, 'DE89370400440532013000')
          : await given.near(payeeId);
      const later: Partial<PlaceOrderInput> = {
        ...{ type: 'recurring', startAt: '2099-01-01T00:00:00.123456789+05:30', repeatUnit: 'monthly', repeatValue: 2 },
        stopAt: '2099-12-31T23:59:59.9999999-12:45',
      };
      const input = given.order(accountId, recipientId, {
        amount: '5000' as TransferAmount,
        ...{
          description: 'Für Ä',
          externalReference: given.key().idempotencyKey,
          metadata: { long: '1', b: '2', 10: '3' },
        },
        ...(kind !== 'near' && { purposeCode: 'IR001' }),
        ...(kind === 'scheduled' && later),
      });
      const key = given.key();
      const first = await given.service.placeOrder(given.ada, input, key);
      const name = { accountId, orderId: first.resource.id };
      // Its edges have reference data, which an earlier run has changed: the two calls may have other versions of it.
      const ownFields = (order: object) => JSON.stringify({ ...order, edges: undefined, next: undefined });
      expect(ownFields(await given.service.getOrder(given.ada, name))).toBe(ownFields(first.resource));
      const payout = kind === 'abroad' ? first.resource.edges.executions?.[0]?.edges.transaction?.id : undefined;
      for (const name of [...names.filter(isNoDeletion), ...names.filter((each) => !isNoDeletion(each))])
        await CHANGES[name]!({ accountId, recipientId, orderId: first.resource.id, kind, payeeId, payout });

      // Another process has the reference data of now.
      const other = new LedgerBankingService(given.world.database, given.world.books, { rails: SANDBOX_ROUTING });
      const replay = await other.placeOrder(given.ada, input, key);

      expect(replay.isReplay).toBe(true);
      expect(JSON.stringify(replay.resource)).toBe(JSON.stringify(first.resource));
    });
    const all = Object.keys(CHANGES);
    const examples: [string, string[]][] = [
      ['near', all],
      ['abroad', all],
      ['scheduled', all],
      ['scheduled', ['the order is resumed by another user, and paused again']],
      ['scheduled', ['the order ends']],
    ];
    await assert(law, { numRuns: testOrProve(12, 60), examples });
  });
});
