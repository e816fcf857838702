import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomBytes } from 'node:crypto';
import type { AccountId, RecipientId, TransferAmount } from '@banking/domain';
import { SANDBOX_ROUTING, sandboxRails } from '@banking/payouts';
import { plant, sql, until } from '@banking/postgres/testing';
import { DEMO_RATES } from '@banking/reference';
import { openWebhooks } from '@banking/webhooks';
import { OldEvents } from '../events/record-changes.js';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { eventWorld, recordAll } from '../testing/event-world.js';
import { recipientAbroad, verifyPayments } from '../testing/order-world.js';
import { startBankingWorker } from '../worker/start-banking-worker.js';
import { EVENT_CHAIN, REQUIRED_EVENTS, WEBHOOK_CHECK } from './verify-events.js';

let given: Awaited<ReturnType<typeof eventWorld>>;
let { world, ada } = {} as typeof given;
let service: LedgerBankingService;
let receiver: Server;
let settings: Parameters<typeof startBankingWorker>[1];
/** Requests that the receiver has read. It refuses the second and the third one, again and again. */
const received: unknown[] = [];
const errors: unknown[] = [];
const ids = {} as Record<
  'completed' | 'paused' | 'archived' | 'near' | 'endpoint' | 'returned' | 'account' | 'transfer',
  number
>;

/** Tables that a fault changes. A copy of each is restored after it. */
const TABLES = [
  ...['event', 'event_sequence', 'event_deletion', 'change_outbox', 'webhook_endpoint', 'webhook_delivery'],
  ...['customer_order', 'execution', 'recipient', 'quote', 'account', 'transaction', 'payout', 'transfer'],
];

const verify = async () => {
  const findings = await verifyPayments(world.database, Object.values(world.demo.workspaces), { rangeRows: 37 });
  const checks = [EVENT_CHAIN, REQUIRED_EVENTS, WEBHOOK_CHECK].map(({ check }) => check);
  return findings.filter(({ check }) => checks.includes(check)).map(({ detail }) => detail);
};

const countOf = async (text: string) => (await world.owner.query<{ count: number }>(text)).rows[0]!.count;

beforeAll(async () => {
  given = await eventWorld();
  ({ world, ada } = given);
  receiver = createServer(({ headers }, response) => {
    const id = headers['webhook-id'];
    if (!received.includes(id)) received.push(id);
    response.writeHead([1, 2].includes(received.indexOf(id)) ? 500 : 204).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const networks = { allowedNetworks: [], refusedNetworks: [], isLocal: true };
  const webhooks = (await openWebhooks({ keys: [randomBytes(32)], isSandbox: true, dataDir: '', ...networks }))!;
  service = new LedgerBankingService(
    world.database,
    world.books,
    { rates: DEMO_RATES, rails: SANDBOX_ROUTING },
    true,
    undefined,
    {
      ...{ sealer: webhooks.sealer, refusedUrl: () => undefined },
    },
  );
  ids.endpoint = (await service.createWebhookEndpoint(ada, { url })).resource.id;
  const [from, to] = [await given.account(1, '1000000'), await given.account(1, '0')];
  const near = await given.near(to);
  ids.near = near;
  ids.completed = (await service.placeOrder(ada, given.order(from, near))).resource.id;
  const later = { type: 'scheduled', startAt: '2040-03-01T09:00:00Z' } as const;
  ids.paused = (await service.placeOrder(ada, given.order(from, near, later))).resource.id;
  await world.database.write({ workspaces: [ada.workspaceId] }, [
    sql(`update customer_order set paused_at = now(), pause_reason = 'placer_without_role' where id = ${ids.paused}`),
  ]);
  const archived = await given.near(from);
  await service.changeRecipient(ada, { recipientId: archived, alias: 'Landlord' });
  await service.deleteRecipient(ada, { recipientId: archived });
  ids.archived = archived;
  await service.createQuote(ada, { accountID: from, recipientID: near, amount: '100' as TransferAmount });
  await service.changeAccount(ada, { accountId: to, alias: 'Savings' });
  await service.changeAccount(ada, { accountId: to, status: 'disabled' });
  const abroad = await recipientAbroad(service, ada, 'DE89370400440532013000');
  await service.placeOrder(ada, {
    ...given.order(from, abroad),
    amount: '50000' as TransferAmount,
    purposeCode: 'IR001',
  });
  ids.account = await given.account(1, '100000');
  await given.work();
  ids.transfer = Number(await countOf('select max(id) as count from transfer'));
  ids.returned = Number(await countOf('select max(return_of) as count from transaction'));

  settings = { orders: service.orders, rails: sandboxRails, webhooks, onError: (error) => errors.push(error) };
  const worker = startBankingWorker(world, settings);
  await until(() => received.length > 3);
  await service.createWebhookEndpoint(ada, { url, types: ['account.opened'] });
  await given.account(1, '0');
  const left = `select (select count(*) from change_outbox)::int + count(*)::int as count from webhook_endpoint w
    where w.cursor_event_id < (select max(id) from event v where v.workspace_id = w.workspace_id)`;
  await until(async () => (await countOf(left)) === 0);
  await worker.stop();
  for (const table of TABLES) await world.owner.query(`create table public.kept_${table} as table ${table}`);
});
afterAll(async () => {
  receiver?.close();
  await world?.close();
});
afterEach(async () => {
  const restore = TABLES.map(
    (table) => `delete from ${table}; insert into ${table} select * from public.kept_${table};`,
  );
  await world.owner.query('rollback');
  await plant(world.owner, restore.join(' '));
});

const OF = () => `workspace_id = ${ada.workspaceId}`;
const of = (type: string, id: number) => `${OF()} and resource_type = '${type}' and resource_id = ${id}`;
const endpoint = 'update webhook_endpoint set';
/** An id that is behind those of all events. */
const LATER = 1_000_000_000;
/** The endpoint has got the event. */
const DELIVERY = /^webhook delivery \d+ is of event \d+, which (is not there|has another type)$/;

describe('the events that the service wrote and a worker delivered', () => {
  it('have no finding', async () => {
    expect(
      await countOf(`select count(*)::int as count from webhook_delivery where status = 'delivered'`),
    ).toBeGreaterThan(20);
    expect(await countOf(`select count(*)::int as count from webhook_delivery where status = 'pending'`)).toBe(2);
    expect(errors).toEqual([]);
    expect(await verify()).toEqual([]);
  });

  it('have no finding while changes wait for their events', async () => {
    const { resource } = await service.openAccount(ada, { productID: 1 as never });
    await service.fundAccount(ada, { accountId: resource.id, amount: '100' as TransferAmount });
    await service.changeAccount(ada, { accountId: resource.id, status: 'disabled' });

    expect(await verify()).toEqual([]);
    await recordAll(world.database);
    expect(await verify()).toEqual([]);
  });

  it('have no finding while they are written, recorded and delivered', async () => {
    const worker = startBankingWorker(world, settings);
    const write = async () => {
      for (let count = 0; count < 10; count += 1) {
        const accountId = await given.account(1, '1000');
        const recipientId = await given.near(accountId);
        await service.placeOrder(ada, given.order(ids.account as AccountId, recipientId));
        await service.deleteRecipient(ada, { recipientId });
        await service.changeAccount(ada, { accountId, status: 'disabled' });
      }
    };
    let isWritten = false;
    const writing = Promise.all([write(), write()]).finally(() => (isWritten = true));
    const findings: string[] = [];
    do findings.push(...(await verify()));
    while (!isWritten);
    await worker.stop();
    await writing;

    expect(findings).toEqual([]);
    expect(errors).toEqual([]);
  });
});

describe('the changes that are not recorded', () => {
  it('are read by their workspace only, those of one type', async () => {
    await given.account(1, '100');
    const { workspaceId } = ada;
    const waiting = (type: string) =>
      sql<{ count: number }>(`select count(*)::int as count from unrecorded_resources(${workspaceId}, '${type}')`);
    const read = async (workspace: number, type = 'account') =>
      (await world.database.pipeline({ workspaces: [workspace] }, [waiting(type)] as const))[0];

    expect(await read(workspaceId)).toEqual([{ count: 1 }]);
    expect(await read(workspaceId, 'transaction')).toEqual([{ count: 1 }]);
    expect(await read(workspaceId, 'order')).toEqual([{ count: 0 }]);
    expect(await read(given.eve.workspaceId)).toEqual([{ count: 0 }]);
  });
});

/** A row of a table with other values. */
const copied = (table: string, values: object, where = 'true') =>
  `insert into ${table} select (jsonb_populate_record(t, '${JSON.stringify(values)}')).* from ${table} t where ${where} limit 1`;

describe('a verification of events', () => {
  it.each<[string, () => string, readonly RegExp[]]>([
    [
      'an event is lost',
      () => `delete from event where ${of('recipient', ids.archived)} and sequence = 2`,
      [/^event \d+ of recipient \d+ has the sequence 3, and event 2 is missing$/, DELIVERY],
    ],
    [
      'the last event of an order is lost',
      () => `delete from event where ${of('order', ids.completed)} and type = 'order.completed'`,
      [/^order \d+ is completed, and its events end with another status$/, DELIVERY],
    ],
    [
      'the last event of a recipient is lost',
      () => `delete from event where ${of('recipient', ids.archived)} and type = 'recipient.archived'`,
      [/^recipient \d+ has recipient.changed as its last event$/, DELIVERY],
    ],
    [
      'the first event is lost, and its number is given to the next one',
      () => `delete from event where ${of('order', ids.paused)} and sequence = 1;
        update event set sequence = 1 where ${of('order', ids.paused)}`,
      [/^event \d+ of order \d+ is order.paused, and the resource was new$/, DELIVERY],
    ],
    [
      'all events of an account are lost',
      () => `delete from event where ${of('account', ids.account)}`,
      [/^account \d+ has no event$/, DELIVERY],
    ],
    ['a quote has no event', () => copied('quote', { id: 777 }), [/^quote 777 has no event$/]],
    [
      'an order is not paused any more, and has no event of it',
      () => `update customer_order set paused_at = null, pause_reason = null where id = ${ids.paused}`,
      [/^order \d+ has order.paused as its last event$/],
    ],
    [
      'a payout is parked without an event',
      () =>
        `update payout set status = 'parked', parked_at = now() where transaction_id = (select max(transaction_id) from payout)`,
      [/^payout \d+ has no event$/],
    ],
    [
      'a return has no event',
      () => `delete from event where ${of('transaction', ids.returned)} and type = 'transaction.returned';
        update event set sequence = sequence - 1 where ${of('transaction', ids.returned)} and type = 'transaction.failed'`,
      [/^transaction \d+ returns transaction \d+, which has no event of it$/],
    ],
    [
      'an event names a return that is not there',
      () =>
        `update event set changes = '{"transactionId": 777}' where ${of('transaction', ids.returned)} and type = 'transaction.returned'`,
      [/^transaction \d+ returns transaction \d+, which has no/, /^event \d+ of transaction \d+ names no return$/],
    ],
    [
      'an event has no resource',
      () => copied('event', { id: LATER, resource_id: 777 }, `type = 'quote.created'`),
      [/^event \d+ of quote 777 is of a resource that is not there$/],
    ],
    [
      'two events of an order have changed places',
      () => `update event set id = ${LATER} where ${of('order', ids.completed)} and sequence = 1`,
      [/^event \d+ of order \d+ has a smaller id than event \d+, which is before it$/, DELIVERY],
    ],
    [
      'an event is of another type than its step',
      () => `update event set type = 'order.cancelled' where ${of('order', ids.completed)} and sequence = 2`,
      [/^event \d+ of order \d+ is order.cancelled active>completed, which is no step/, DELIVERY],
    ],
    [
      'an event does not begin where the one before it ended',
      () => `update event set type = 'account.enabled', changes = '{"status": {"before": "disabled", "after": "enabled"}}'
        where id = (select max(id) from event where type = 'account.disabled');
        update account set status = 'enabled' where id = (select max(resource_id) from event where type = 'account.enabled')`,
      [/^event \d+ of account \d+ begins with disabled, and the one before ended with another status$/, DELIVERY],
    ],
    [
      'an event follows the last one',
      () => copied('event', { id: LATER, sequence: 2 }, of('transfer', ids.transfer)),
      [/^event \d+ of transfer \d+ follows transfer.booked, which is final$/],
    ],
    [
      'the number of an event is that of a deleted one',
      () => `insert into event_sequence values (${ada.workspaceId}, 'account', ${ids.account}, 1)`,
      [/^event \d+ of account \d+ has the sequence 1, which was given before$/],
    ],
    [
      'young events were deleted',
      () => `insert into event_deletion values (${ada.workspaceId}, 1, now(), now())`,
      [/^events up to 1 were deleted, and were not a day old$/],
    ],
    [
      'a cursor is behind the last event',
      () => `${endpoint} cursor_event_id = ${LATER} where id = ${ids.endpoint}`,
      [/^webhook endpoint \d+ has a cursor behind event \d+, which is the last one$/],
    ],
    [
      'an event was passed and not delivered',
      () =>
        `delete from webhook_delivery where id = (select max(id) from webhook_delivery where endpoint_id = ${ids.endpoint})`,
      [/^webhook endpoint \d+ has passed event \d+, and has no delivery of it$/],
    ],
    [
      'a delivery waits for an event that is not there',
      () => copied('webhook_delivery', { id: 777, event_id: LATER }, `status = 'pending'`),
      [/^webhook delivery 777 is of event \d+, which is not there$/],
    ],
    [
      'a delivery is of another type than its event',
      () => `update webhook_delivery set event_type = 'order.failed' where id = (select min(id) from webhook_delivery)`,
      [/^webhook delivery \d+ is of event \d+, which has another type$/],
    ],
    [
      'a delivery is delivered without a response',
      () => `update webhook_delivery set status = 'delivered', next_attempt_at = null
        where id = (select id from webhook_delivery where status = 'pending' limit 1)`,
      [/^webhook delivery \d+ is delivered without a response of success$/],
    ],
  ])('finds that %s', async (_what, fault, details) => {
    await plant(world.owner, fault());

    expect(await verify()).toEqual(details.map((detail) => expect.stringMatching(detail) as string));
  });
});

describe('a verification after events were deleted because of their age', () => {
  const AGED = [
    'event',
    'customer_order',
    'recipient',
    'quote',
    'account',
    'transaction',
    'payout',
    'transfer',
    'webhook_endpoint',
    'deposit',
  ];

  /** Makes all that was done so old, and deletes what a worker deletes. */
  const age = async (days: number) => {
    const back = `interval '${days} days'`;
    const tables = AGED.map((table) => `update ${table} set created_at = created_at - ${back}`);
    await plant(world.owner, tables.join('; ').replace('quote set', `quote set expires_at = expires_at - ${back},`));
    await plant(
      world.owner,
      `update payout set parked_at = parked_at - ${back}; update deposit set updated_at = updated_at - ${back}`,
    );
    const old = new OldEvents(world.database);
    while ((await old.deleteBatch()) > 0);
  };
  const change = async () => {
    await service.changeAccount(ada, { accountId: ids.account as AccountId, alias: 'Rent' });
    await service.changeRecipient(ada, { recipientId: ids.near as RecipientId, alias: 'Landlord' });
    await recordAll(world.database);
  };

  it('has no finding, also when they go on, and some are kept for a delivery', async () => {
    // The first event of an order stays, and the last one does not.
    await plant(
      world.owner,
      `update webhook_delivery set status = 'pending', next_attempt_at = now()
      where event_id = (select id from event where ${of('order', ids.completed)} and sequence = 1)`,
    );
    await age(31);
    const left = await countOf('select count(*)::int as count from event');
    expect(left).toBe(3);
    expect(await verify()).toEqual([]);

    await change();
    expect(await verify()).toEqual([]);

    await age(20);
    await change();
    await age(20);
    expect(await countOf('select count(*)::int as count from event')).toBeGreaterThan(left);
    expect(await verify()).toEqual([]);
  });

  it('has no finding for transactions that were booked ahead of the clock, and finds later ones', async () => {
    const ahead = `set created_at = created_at + interval '3 hours'`;
    await plant(world.owner, `update transaction ${ahead}; update transfer ${ahead}`);
    await age(31);
    expect(await countOf(`select count(*)::int as count from event where ${of('transfer', ids.transfer)}`)).toBe(0);
    expect(await verify()).toEqual([]);

    await plant(world.owner, `update transfer ${ahead} where id = ${ids.transfer}`);
    expect(await verify()).toEqual([`transfer ${ids.transfer} has no event`]);
  });

  it('finds that the number of an account is lost', async () => {
    await age(31);
    await plant(world.owner, `delete from event_sequence where ${of('account', ids.account)}`);

    expect(await verify()).toEqual([`account ${ids.account} has no event`]);
  });

  it.each<[string, () => string, readonly RegExp[]]>([
    [
      'a number was given again',
      () => `update event_sequence set sequence = 2 where ${of('account', ids.account)}`,
      [/^event \d+ of account \d+ has the sequence 2, which was given before$/],
    ],
    [
      'an event is lost that came later',
      () => `${copied('event', { id: LATER, sequence: 4 }, of('account', ids.account))}`,
      [/^event \d+ of account \d+ has the sequence 4, and event 3 is missing$/],
    ],
    [
      'an endpoint was not disabled, and its events were deleted',
      () => `${copied('event', {
        id: 1,
        type: 'webhookEndpoint.created',
        sequence: 1,
        resource_type: 'webhookEndpoint',
        resource_id: ids.endpoint,
        changes: { status: { before: null, after: 'enabled' } },
        created_at: '2020-01-01',
      })};
        delete from event_sequence where ${of('webhookEndpoint', ids.endpoint)};
        ${endpoint} cursor_event_id = 1 where id = ${ids.endpoint}`,
      [/^webhook endpoint \d+ has a cursor before event \d+, which was deleted, and was never disabled$/],
    ],
  ])('finds that %s', async (_what, fault, details) => {
    await age(31);
    await change();
    await plant(world.owner, fault());

    expect(await verify()).toEqual(details.map((detail) => expect.stringMatching(detail) as string));
  });
});
