import type {
  AccountId,
  LimitTerms,
  Order,
  PlaceOrderInput,
  RecipientId,
  Refusal,
  TransferAmount,
  UserId,
  WorkspaceId,
} from '@banking/domain';
import { isRaised } from '@banking/domain';
import { recordEvent } from '@banking/payouts';
import { WORKER_ROLE } from '@banking/postgres';
import { reasonOf } from '@banking/postgres/testing';
import * as fc from 'fast-check';
import { recordAll } from '../testing/event-world.js';
import { addGrants, addUser, addWorkspace, setTimeZone } from '../provisioning/index.js';
import {
  type Member,
  orderWorld,
  type OrderWorld,
  placerWorld,
  recipientAbroad,
  verifyPayments,
} from '../testing/order-world.js';
import { recordAudit } from '../audit/record-audit.js';
import { deleteCountedPayments } from './limits.js';

let at: OrderWorld;
/** The workspaces of a test. */
const workspaces: number[] = [];
let places = 0;

beforeAll(async () => {
  at = await orderWorld();
});
afterAll(() => at.world.close());
afterEach(async () => {
  jest.restoreAllMocks();
  expect(await verifyPayments(at.world.database, workspaces.splice(0))).toEqual([]);
});

const ADA = 'ada@northwind.example';
const BOB = 'bob@northwind.example';
const DAY: LimitTerms = { scope: 'workspace', metric: 'amount', per: 'day', value: '1000', currency: 'USD' };

/** A workspace without limits, with an account in USD, a recipient for another one, an administrator and a member. */
async function place() {
  const { provisioning, demo } = at.world;
  const named = { app: 'Northwind Treasury', name: `Bounded ${(places += 1)}` };
  const workspaceId = (await addWorkspace(provisioning, 'ops', named)) as WorkspaceId;
  workspaces.push(workspaceId);
  await addGrants(provisioning, 'ops', { workspaceId, email: ADA, roles: ['admin'] });
  await addGrants(provisioning, 'ops', { workspaceId, email: BOB, roles: ['member'] });
  const ada: Member = { workspaceId, actor: demo.users[ADA] as UserId };
  const bob: Member = { workspaceId, actor: demo.users[BOB] as UserId };
  const from = await at.account(1, '10000000', ada);
  const to = await at.near(await at.account(1, '0', ada), ada, ada);
  const order = (amount: string, more: Partial<PlaceOrderInput> = {}, by = ada) =>
    at.service.placeOrder(by, at.order(from, to, { amount: amount as TransferAmount, ...more }), at.key());
  return {
    ...{ ada, bob, from, to, order },
    pay: (amount: string, more: Partial<PlaceOrderInput> = {}, by = ada) => reasonOf(order(amount, more, by)),
    list: () => at.service.getLimits(ada),
    used: async () => (await at.service.getLimits(ada)).limits.map(({ used }) => used),
    async limit(...limits: LimitTerms[]) {
      const { version } = await at.service.getLimits(ada);
      return at.service.replaceLimits(ada, { version, limits });
    },
  };
}

describe('an order', () => {
  it('is refused if it exceeds a limit of the day, with the limit and its use', async () => {
    const { limit, pay, order, used } = await place();
    await limit(DAY);

    expect(await pay('600')).toBeUndefined();
    const refused = await order('401').catch((error: Refusal) => error);
    expect(await pay('400')).toBeUndefined();

    expect(refused).toMatchObject({
      reason: 'limit_exceeded',
      message: expect.stringMatching(
        /^The limit of the workspace is 10\.00 USD in a day\. 6\.00 USD are used until 20/,
      ) as string,
      details: [
        { path: '/amount', limit: { ...DAY, used: '600', resetsAt: expect.stringMatching(/T00:00:00/) as string } },
      ],
    });
    expect(JSON.stringify(refused)).not.toContain('401');
    expect(await used()).toEqual(['1000']);
  });

  it('is refused alone, and not with the others of its batch', async () => {
    const { limit, pay, used } = await place();
    await limit(DAY);

    const reasons = await Promise.all(['300', '800', '300', '400', '1'].map((amount) => pay(amount)));

    expect(reasons).toEqual([undefined, 'limit_exceeded', undefined, undefined, 'limit_exceeded']);
    expect(await used()).toEqual(['1000']);
  });

  it('is bounded by itself, by its account, its placer and the roles of the placer', async () => {
    const { limit, pay, ada, bob, from } = await place();
    const bounds: readonly (readonly [LimitTerms, string | undefined, string | undefined])[] = [
      [{ ...DAY, per: 'order' }, 'limit_exceeded', 'limit_exceeded'],
      [{ ...DAY, scope: 'account', accountID: from }, 'limit_exceeded', 'limit_exceeded'],
      [{ ...DAY, scope: 'person', userID: bob.actor }, undefined, 'limit_exceeded'],
      [{ ...DAY, scope: 'serviceAccount', userID: bob.actor }, undefined, 'limit_exceeded'],
      [{ ...DAY, scope: 'role', role: 'admin' }, 'limit_exceeded', undefined],
      [{ ...DAY, per: 'month' }, 'limit_exceeded', 'limit_exceeded'],
    ];
    for (const [bound, byAda, byBob] of bounds) {
      await limit(bound);
      expect([await pay('1001', {}, ada), await pay('1001', {}, bob)]).toEqual([byAda, byBob]);
    }
    const other = await at.account(1, '5000', ada);
    await limit({ ...DAY, scope: 'account', accountID: other });
    expect(await pay('1001')).toBeUndefined();
  });

  it('is counted by number', async () => {
    const { limit, pay } = await place();
    await limit({ scope: 'workspace', metric: 'count', per: 'day', value: '2' });

    expect([await pay('1'), await pay('1'), await pay('1')]).toEqual([undefined, undefined, 'limit_exceeded']);
  });

  it('is counted in the day of its booking, also where its account is ahead of the clock', async () => {
    const { limit, pay, ada, from } = await place();
    const [other, another] = [await at.account(1, '5000', ada), await at.account(1, '0', ada)];
    const payToday = async () => {
      const input = at.order(other, await at.near(another, ada, ada), { amount: '1' as TransferAmount });
      return reasonOf(at.service.placeOrder(ada, input, at.key()));
    };
    await limit({ scope: 'workspace', metric: 'count', per: 'day', value: '1' });
    await at.world.owner.query(`update account set balance_at = now() + interval '3 days' where id = $1`, [from]);

    expect([await payToday(), await pay('1')]).toEqual([undefined, undefined]);
    expect([await payToday(), await pay('1')]).toEqual(['limit_exceeded', 'limit_exceeded']);
  });

  it('is not bounded where the list is empty again', async () => {
    const { limit, pay } = await place();
    await limit(DAY);
    await limit();

    expect(await pay('5000')).toBeUndefined();
  });

  it('is counted without its fee, and its returned money is not given back', async () => {
    const { limit, ada, from, used } = await place();
    await limit({ ...DAY, value: '1000000' });
    const abroad = await recipientAbroad(at.service, ada, 'DE02120300000000202051');
    const { resource } = await at.service.placeOrder(
      ada,
      at.order(from, abroad, { amount: '100000' as TransferAmount, purposeCode: 'IR001' }),
    );
    const transactionId = resource.edges.executions?.[0]?.edges.transaction?.id ?? 0;
    const rejected = { providerEvent: 'one', reasonCode: 'AC04', status: 'RJCT' } as const;
    await recordEvent(at.world.books, ada.workspaceId, transactionId, rejected);

    expect(await used()).toEqual(['100000']);
  });

  it('in another currency counts at its rate, rounded up', async () => {
    const { limit, used, ada } = await place();
    const euro = await at.account(2, '100000', ada);
    const [inEuro, inDollar] = [
      await at.near(await at.account(2, '0', ada), ada, ada),
      await at.near(await at.account(1, '0', ada), ada, ada),
    ];
    const pay = (to: RecipientId, amount: string) =>
      at.service.placeOrder(ada, at.order(euro, to, { amount: amount as TransferAmount }));
    await limit({ ...DAY, value: '1000000' }, { ...DAY, value: '1000000', currency: 'GBP' });

    const { resource } = await pay(inDollar, '333');
    const { rows } = await at.world.owner.query<{ usd: bigint; gbp: bigint }>(
      `select x.target_amount + case when x.remainder_numerator > 0 then 1 else 0 end as usd, p.amounts[1].amount as gbp
       from transaction x join counted_payment p on (p.workspace_id, p.transaction_id) = (x.workspace_id, x.id) where x.id = $1`,
      [resource.edges.executions?.[0]?.edges.transaction?.id],
    );
    expect(await used()).toEqual([String(rows[0]?.usd), String(rows[0]?.gbp)]);
    await pay(inEuro, '1');
    // Each part of a minor unit counts as one.
    expect(await used()).toEqual([String(rows[0]!.usd + 2n), String(rows[0]!.gbp + 1n)]);
  });

  it('that is placed while a limit in another currency is set is priced again', async () => {
    const { limit, pay, used, ada } = await place();
    const { database } = at.world;
    await limit({ ...DAY, value: '1000000' });
    const transaction = database.transaction.bind(database);
    jest.spyOn(database, 'transaction').mockImplementationOnce(async (scope, work, options) => {
      const { version } = await at.service.getLimits(ada);
      const limits = [{ ...DAY, value: '1000000', currency: 'GBP' }];
      await at.service.replaceLimits(ada, { version, limits });
      return transaction(scope, work, options);
    });

    expect(await pay('500')).toBeUndefined();

    jest.restoreAllMocks();
    expect(Number((await used())[0])).toBeGreaterThan(0);
  });

  it('that was decided before a limit was set is refused when it is committed', async () => {
    const { order, used, ada } = await place();
    const { database } = at.world;
    const transaction = database.transaction.bind(database);
    // The limit is committed between the decision and the commit of the order.
    jest.spyOn(database, 'transaction').mockImplementationOnce((scope, work, options) =>
      transaction(
        scope,
        (tx) =>
          work({
            pipeline: tx.pipeline.bind(tx),
            commit: (async (bound: never) => {
              await at.service.replaceLimits(ada, { version: 0, limits: [{ ...DAY, value: '100' }] });
              return tx.commit(bound);
            }) as never,
          }),
        options,
      ),
    );

    const refused = await order('500').catch((error: Refusal) => error);

    expect(refused).toMatchObject({
      reason: 'limit_exceeded',
      details: [{ limit: { ...DAY, value: '100', used: '0' } }],
    });
    expect(await used()).toEqual(['0']);
  });

  it('is counted on what the books have if a counter is missing, beside a year of old ones', async () => {
    const { limit, pay, used, ada } = await place();
    await limit(DAY);
    await pay('900');
    await at.world.owner.query('delete from limit_use where workspace_id = $1', [ada.workspaceId]);
    await at.world.owner.query(
      `insert into limit_use (workspace_id, limit_id, period_start, period_end, used)
       select l.workspace_id, l.id, d, d + interval '1 day', 1 from payment_limit l
         cross join generate_series(timestamptz '2024-01-01T00:00:00Z', timestamptz '2024-12-31T00:00:00Z', '1 day') d
       where l.workspace_id = $1`,
      [ada.workspaceId],
    );

    expect([await pay('101'), await pay('100')]).toEqual(['limit_exceeded', undefined]);

    const { rows } = await at.world.owner.query('select from limit_use where workspace_id = $1', [ada.workspaceId]);
    expect([rows.length, await used()]).toEqual([1, ['1000']]);
  });

  it('is noted for as long as counters need it', async () => {
    const { limit, pay, used, ada } = await place();
    await limit(DAY);
    await pay('1');
    await pay('2');
    await at.world.owner.query(
      `update counted_payment set created_at = created_at - interval '71 days'
       where workspace_id = $1 and transaction_id = (select min(transaction_id) from counted_payment where workspace_id = $1)`,
      [ada.workspaceId],
    );
    const worker = at.world.database.as(WORKER_ROLE);

    const deleted = await worker.read({ workspaces: [ada.workspaceId] }, deleteCountedPayments());

    const left = await at.world.owner.query<{ transaction_id: bigint }>(
      'select transaction_id from counted_payment where workspace_id = $1',
      [ada.workspaceId],
    );
    expect([deleted, left.rows.length, await used()]).toEqual([{ deleted: 1 }, 1, ['3']]);
    workspaces.length = 0;
  });
});

describe('a list of limits', () => {
  it('is empty at first, in UTC', async () => {
    expect(await (await place()).list()).toEqual({ version: 0, timeZone: 'UTC', limits: [] });
  });

  it('is replaced only by its version, and a repeated request has the response of the first', async () => {
    const { ada, limit, list } = await place();
    const replace = (version: number, ...limits: LimitTerms[]) => at.service.replaceLimits(ada, { version, limits });
    const first = await replace(0, DAY);

    expect(first).toMatchObject({ version: 1, limits: [{ ...DAY, used: '0' }] });
    expect(await replace(0, DAY)).toEqual(first);
    expect(await reasonOf(replace(0, { ...DAY, value: '2000' }))).toBe('version_conflict');
    expect(await reasonOf(replace(7))).toBe('version_conflict');
    expect(await limit({ ...DAY, value: '2000' })).toMatchObject({ version: 2 });
    expect(await list()).toMatchObject({ version: 2, limits: [{ value: '2000' }] });
  });

  it('is replaced by one of several administrators at once', async () => {
    const { ada } = await place();
    const replacing = ['1', '2', '3', '4'].map((value) =>
      reasonOf(at.service.replaceLimits(ada, { version: 0, limits: [{ ...DAY, value }] })),
    );

    const reasons = await Promise.all(replacing);

    expect(reasons.filter((reason) => reason === undefined)).toHaveLength(1);
    expect(reasons.filter((reason) => reason === 'version_conflict')).toHaveLength(3);
  });

  it('counts what was paid before, also by a person and by a role, and after a limit was away', async () => {
    const { bob, pay, limit, used } = await place();
    await pay('300');
    await pay('200', {}, bob);
    const limits: LimitTerms[] = [
      { ...DAY, value: '700' },
      { ...DAY, scope: 'person', userID: bob.actor },
      { ...DAY, scope: 'role', role: 'admin', per: 'month' },
    ];

    await limit(...limits);
    expect(await used()).toEqual(['500', '200', '300']);
    expect(await pay('201')).toBe('limit_exceeded');
    await limit();
    await pay('1000');
    await limit(...limits);
    expect(await used()).toEqual(['1500', '200', '1300']);
    expect(await pay('1')).toBe('limit_exceeded');
  });

  it('keeps the use of a limit whose value changes', async () => {
    const { pay, limit, used } = await place();
    await limit(DAY);
    await pay('900');
    await limit({ ...DAY, value: '500' });
    expect([await used(), await pay('1')]).toEqual([['900'], 'limit_exceeded']);
    await limit({ ...DAY, value: '901' });
    expect([await pay('2'), await pay('1')]).toEqual(['limit_exceeded', undefined]);
  });

  it('follows the time zone of the workspace', async () => {
    const { ada, pay, limit, list } = await place();
    await limit(DAY);
    await pay('900');

    await setTimeZone(at.world.provisioning, 'ops', ada.workspaceId, 'Asia/Kolkata');
    const shown = await list();
    await pay('1');

    expect(shown.timeZone).toBe('Asia/Kolkata');
    expect(shown.limits[0]?.resetsAt).toMatch(/T18:30:00/);
    expect(await reasonOf(setTimeZone(at.world.provisioning, 'ops', ada.workspaceId, 'Mars/Phobos'))).toBe(
      'The database knows no time zone Mars/Phobos. Use a name of the IANA database, such as Europe/Berlin.',
    );
  });

  it('is refused with limits that are not valid', async () => {
    const { limit, from } = await place();
    const elsewhere = await at.account(1, '0', at.eve);
    const stranger = (await addUser(at.world.provisioning, 'ops', {
      email: 'stranger@northwind.example',
      app: 'Northwind Treasury',
    })) as UserId;
    const { currency: _, ...count } = { ...DAY, metric: 'count' };
    const invalid: readonly LimitTerms[] = [
      { ...DAY, scope: 'account' },
      { ...DAY, accountID: from },
      { ...DAY, scope: 'account', accountID: elsewhere },
      { ...DAY, scope: 'account', accountID: 999_999_999 as AccountId },
      { ...DAY, scope: 'person', userID: stranger },
      { ...DAY, scope: 'role' },
      { ...DAY, metric: 'count' },
      { ...count, metric: 'amount' },
      { ...count, per: 'order' },
    ];
    for (const one of invalid) expect(await reasonOf(limit(one))).toBe('payment_limit_invalid');
    expect(await reasonOf(limit(DAY, { ...DAY, value: '1' }))).toBe('payment_limit_invalid');
    expect(await limit()).toMatchObject({ version: 0 });
  });

  it('has an event and an entry of the audit trail for each change', async () => {
    const { ada, limit } = await place();
    await limit(DAY);
    await limit(DAY);
    await limit();
    await recordAll(at.world.database);
    while ((await recordAudit(at.world.database)) > 0);

    const events = await at.service.listEvents(ada, { type: ['limits.changed'] });
    const audit = await at.service.listAuditEvents(ada, { operation: 'replaceLimits' });

    const changed = { resource: { type: 'limits', id: ada.workspaceId }, actor: { type: 'user', id: ada.actor } };
    expect(events.items).toMatchObject([
      { ...changed, sequence: 1 },
      { ...changed, sequence: 2 },
    ]);
    expect(audit.items).toHaveLength(2);
  });
});

describe('a later order', () => {
  it('fails with its limit, and a recurring one goes on', async () => {
    const world = await placerWorld();
    const { ada, service } = world;
    const bound = (value: string) => ({ version: 0, limits: [{ ...DAY, per: 'order', value }] });
    try {
      await service.replaceLimits(ada, bound('99'));
      const daily = await world.orderOf(ada.actor);
      const once = await world.orderOf(ada.actor, 'scheduled');

      const repeated = await daily.day(1);
      const single = await once.day(1);

      const failed = { status: 'failed', failureCode: 'limit_exceeded' };
      expect([repeated.status, repeated.edges.executions]).toMatchObject(['active', [failed, { status: 'scheduled' }]]);
      expect([single.status, single.edges.executions]).toMatchObject(['failed', [failed]]);
      expect(messageOf(single)).toBe('The limit of the workspace is 0.99 USD in an order.');
      await service.replaceLimits(ada, { ...bound('100'), version: 1 });
      expect((await daily.day(2)).edges.executions?.[1]).toMatchObject({ status: 'completed' });
      await world.expectInOrder();
    } finally {
      await world.close();
    }
  });
});

const messageOf = ({ edges }: Order) => edges.executions?.[0]?.failureMessage;

describe('whether limits are raised', () => {
  const limits = fc.uniqueArray(
    fc.record({
      scope: fc.constantFrom('workspace', 'role'),
      per: fc.constantFrom('day', 'month'),
      currency: fc.constantFrom('USD', 'EUR'),
      value: fc.integer({ min: 0, max: 3 }),
    }),
    { maxLength: 4, selector: ({ scope, per, currency }) => [scope, per, currency].join() },
  );
  const termsOf = ({
    scope,
    per,
    currency,
    value,
  }: {
    scope: string;
    per: string;
    currency: string;
    value: number;
  }) => ({
    ...{ scope, per, currency, metric: 'amount', value: String(value) },
    ...(scope === 'role' && { role: 'member' }),
  });

  it('is the same for TypeScript and the database', async () => {
    const row = ({ scope, per, currency, value }: { scope: string; per: string; currency: string; value: number }) =>
      `(${scope},,${scope === 'role' ? 'member' : ''},,amount,${per},${value},${currency === 'USD' ? 840 : 978})`;
    await fc.assert(
      fc.asyncProperty(limits, limits, async (before, after) => {
        const { rows } = await at.world.owner.query<{ raised: boolean }>(
          'select are_limits_raised($1::stored_limit[], $2::stored_limit[]) as raised',
          [before.map(row), after.map(row)],
        );
        expect(rows[0]?.raised).toBe(isRaised(before.map(termsOf), after.map(termsOf)));
      }),
    );
  });

  it.each<[string, LimitTerms[], LimitTerms[], boolean]>([
    ['a new limit', [], [DAY], false],
    ['a lower value', [DAY], [{ ...DAY, value: '999' }], false],
    ['a higher value', [DAY], [{ ...DAY, value: '1001' }], true],
    ['a removed limit', [DAY], [], true],
    ['a limit of another measure in its place', [DAY], [{ ...DAY, per: 'month' }], true],
  ])('of %s', (_, before, after, expected) => {
    expect(isRaised(before, after)).toBe(expected);
  });
});

describe('the period of a limit', () => {
  const ZONES = [
    ...['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Pacific/Apia'],
    ...['America/Havana', 'America/Sao_Paulo', 'Asia/Beirut', 'Africa/Casablanca', 'Pacific/Kiritimati'],
  ];
  const instants = fc.oneof(
    fc.date({ min: new Date('1995-01-01Z'), max: new Date('2037-12-31Z'), noInvalidDate: true }),
    // Around the ends of days and months.
    fc
      .tuple(
        fc.integer({ min: 1995, max: 2037 }),
        fc.nat(11),
        fc.constantFrom(1, 1, 15),
        fc.integer({ min: -90_000, max: 90_000 }),
      )
      .map(([year, month, day, s]) => new Date(Date.UTC(year, month, day) + s * 1_000)),
  );

  it('contains its instant, and the periods of a zone follow one another', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...ZONES),
        fc.constantFrom('day', 'month'),
        instants,
        async (zone, per, instant) => {
          const { rows } = await at.world.owner.query<Record<string, boolean>>(
            `select p.starts <= $3 and $3 < p.ends as contains, n.starts = p.ends as follows, b.starts = p.starts as begins,
             (p.starts at time zone $2)::date = date_trunc($1, $3::timestamptz at time zone $2)::date
               or (($3::timestamptz + interval '3 h') at time zone $2)::date <> ($3::timestamptz at time zone $2)::date
               or (($3::timestamptz - interval '3 h') at time zone $2)::date <> ($3::timestamptz at time zone $2)::date as is_local
           from limit_period($1, $3::timestamptz, $2) p, limit_period($1, p.ends, $2) n, limit_period($1, p.starts, $2) b`,
            [per, zone, instant.toISOString()],
          );
          expect(rows).toEqual([{ contains: true, follows: true, begins: true, is_local: true }]);
        },
      ),
      { numRuns: 300 },
    );
  });
});
