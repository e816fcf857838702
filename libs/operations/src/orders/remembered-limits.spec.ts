import type { AccountId, LimitTerms, RecipientId, TransferAmount, UserId, WorkspaceId } from '@banking/domain';
import { SANDBOX_ROUTING } from '@banking/payouts';
import { reasonOf } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { addGrants, addWorkspace } from '../provisioning/index.js';
import { type Member, orderWorld, type OrderWorld, roundTripsOf, verifyPayments } from '../testing/order-world.js';

const ADA = 'ada@northwind.example';
const BOB = 'bob@northwind.example';
const DAY: LimitTerms = { scope: 'workspace', metric: 'amount', per: 'day', value: '1000', currency: 'USD' };
const [REMEMBERED, READ] = ['hold_accounts', 'lock_free_accounts'];

let at: OrderWorld;
let bounded: Payer;
let free: Payer;
let one: LedgerBankingService;
let other: LedgerBankingService;
let places = 0;

beforeAll(async () => {
  at = await orderWorld();
});
beforeEach(async () => {
  [bounded, free] = [await payer(), await payer()];
  await at.service.replaceLimits(bounded.ada, { version: 0, limits: [DAY] });
  [one, other] = [process(), process()];
});
afterEach(async () => {
  const workspaces = [bounded, free].map(({ ada }) => ada.workspaceId);
  expect(await verifyPayments(at.world.database, workspaces)).toEqual([]);
});
afterAll(() => at.world.close());

/** A service of another process. */
const process = () => new LedgerBankingService(at.world.database, at.world.books, { rails: SANDBOX_ROUTING });

type Payer = Readonly<{ ada: Member; bob: Member; from: AccountId; to: RecipientId }>;

/** A workspace without limits, with two members and an account that can pay. */
async function payer(): Promise<Payer> {
  const { provisioning, demo } = at.world;
  const named = { app: 'Northwind Treasury', name: `Remembered ${(places += 1)}` };
  const workspaceId = (await addWorkspace(provisioning, 'ops', named)) as WorkspaceId;
  await addGrants(provisioning, 'ops', { workspaceId, email: ADA, roles: ['admin', 'member'] });
  await addGrants(provisioning, 'ops', { workspaceId, email: BOB, roles: ['member'] });
  const [ada, bob] = [ADA, BOB].map((email): Member => ({ workspaceId, actor: demo.users[email] as UserId }));
  const from = await at.account(1, '10000000', ada);
  return { ada: ada!, bob: bob!, from, to: await at.near(await at.account(1, '0', ada), ada!, ada) };
}

/** Another account of the workspace with limits, and another payee, so that a process remembers nothing of it but the limits. */
async function apart(): Promise<Payer> {
  const { ada } = bounded;
  const from = await at.account(1, '100000', ada);
  return { ...bounded, from, to: await at.near(await at.account(1, '0', ada), ada, ada) };
}

const pay = (service: LedgerBankingService, { ada, from, to }: Payer, amount: string, by = ada) =>
  reasonOf(service.placeOrder(by, at.order(from, to, { amount: amount as TransferAmount }), at.key()));

/** How orders were carried out, and the reasons of those that were refused. */
async function wayOf(work: () => Promise<unknown>): Promise<unknown[]> {
  let outcome: unknown;
  const { names } = await roundTripsOf(at.world.database, async () => (outcome = await work()));
  return [...names.filter((name) => name === REMEMBERED || name === READ), outcome];
}

const used = async () => (await at.service.getLimits(bounded.ada)).limits.map((limit) => limit.used);

describe('the limits of a workspace', () => {
  it('are remembered from one order to the next, and counted in the database', async () => {
    const ways = [];
    for (let count = 0; count < 3; count += 1) ways.push(await wayOf(() => pay(one, bounded, '300')));

    expect(ways).toEqual([
      [READ, undefined],
      [REMEMBERED, undefined],
      [REMEMBERED, undefined],
    ]);
    expect(await used()).toEqual(['900']);
  });

  it('refuse nothing that was not read', async () => {
    await pay(one, bounded, '600');

    expect(await wayOf(() => pay(one, bounded, '401'))).toEqual([READ, 'limit_exceeded']);
    expect(await wayOf(() => pay(one, bounded, '400'))).toEqual([REMEMBERED, undefined]);
    expect(await used()).toEqual(['1000']);
  });

  it('are exact where another process has used them, and read once then', async () => {
    const second = await apart();
    await pay(one, bounded, '100');
    await pay(other, second, '800');

    expect(await wayOf(() => pay(one, bounded, '101'))).toEqual([REMEMBERED, READ, 'limit_exceeded']);
    expect(await wayOf(() => pay(one, bounded, '101'))).toEqual([READ, 'limit_exceeded']);
    expect(await wayOf(() => pay(one, bounded, '100'))).toEqual([REMEMBERED, undefined]);
    expect(await used()).toEqual(['1000']);
  });

  it('do not have the orders of another workspace in the batch read', async () => {
    const second = await apart();
    await pay(one, bounded, '100');
    await pay(one, free, '100');
    await pay(other, second, '800');

    const ways = await wayOf(() => Promise.all([pay(one, bounded, '101'), pay(one, free, '5000')]));

    expect(ways).toEqual([REMEMBERED, REMEMBERED, READ, ['limit_exceeded', undefined]]);
  });

  it('are read while two processes take turns with them', async () => {
    const second = await apart();
    await pay(one, bounded, '10');
    await pay(other, second, '10');
    const ways = [];
    for (let turns = 0; turns < 3; turns += 1) {
      ways.push(await wayOf(() => pay(one, bounded, '10')));
      await pay(other, second, '10');
    }

    // The count at the commit is that of both, so the first is carried out on what is remembered.
    expect(ways).toEqual([
      [REMEMBERED, undefined],
      [REMEMBERED, undefined],
      [REMEMBERED, undefined],
    ]);
    expect(await used()).toEqual(['80']);

    await pay(other, second, '900');
    expect(await wayOf(() => pay(one, bounded, '30'))).toEqual([REMEMBERED, READ, 'limit_exceeded']);
    await pay(other, second, '10');
    expect(await wayOf(() => pay(one, bounded, '5'))).toEqual([READ, undefined]);
    expect(await wayOf(() => pay(one, bounded, '4'))).toEqual([READ, undefined]);
    expect(await wayOf(() => pay(one, bounded, '1'))).toEqual([REMEMBERED, undefined]);
    expect(await used()).toEqual(['1000']);
  });

  it('of two workspaces that are exceeded are refused together', async () => {
    const [first, second] = [bounded, await payer()];
    await at.service.replaceLimits(second.ada, { version: 0, limits: [DAY] });
    for (const [workspace, from] of [
      [first, await at.account(1, '100000', first.ada)],
      [second, await at.account(1, '100000', second.ada)],
    ] as const) {
      const to = await at.near(await at.account(1, '0', workspace.ada), workspace.ada, workspace.ada);
      await pay(one, workspace, '100');
      await pay(other, { ...workspace, from, to }, '800');
    }
    await pay(one, free, '100');

    const { sent } = await roundTripsOf(at.world.database, () =>
      Promise.all([pay(one, first, '101'), pay(one, free, '100'), pay(one, second, '101')]),
    );

    const read = sent.filter(({ statement }) => statement.name === READ);
    expect(read).toHaveLength(1);
    const accounts = String(read[0]!.values[1]).slice(1, -1).split(',');
    expect(accounts).toContain(String(first.from));
    expect(accounts).not.toContain(String(free.from));
  });

  it('are counted once where a batch is tried again', async () => {
    await pay(one, bounded, '100');
    await pay(one, free, '100');
    await pay(other, free, '100');

    const ways = await wayOf(() => Promise.all([pay(one, bounded, '500'), pay(one, free, '100')]));

    expect(ways).toEqual([REMEMBERED, REMEMBERED, READ, [undefined, undefined]]);
  });

  it('are read for a user whose roles are not known', async () => {
    const { limits, version } = await at.service.getLimits(bounded.ada);
    const ofAdmins: LimitTerms = { ...DAY, scope: 'role', role: 'admin', value: '150' };
    const own = limits.map(({ used: _, resetsAt: __, ...terms }) => terms);
    await at.service.replaceLimits(bounded.ada, { version, limits: [...own, ofAdmins] });
    await pay(one, bounded, '100', bounded.bob);

    expect(await wayOf(() => pay(one, bounded, '100', bounded.bob))).toEqual([REMEMBERED, undefined]);
    expect(await wayOf(() => pay(one, bounded, '151'))).toEqual([READ, 'limit_exceeded']);
    expect(await wayOf(() => pay(one, bounded, '150'))).toEqual([REMEMBERED, undefined]);
    expect(await wayOf(() => pay(one, bounded, '100', bounded.bob))).toEqual([REMEMBERED, undefined]);
  });

  it('are read again when they have changed', async () => {
    await pay(one, bounded, '100');
    const { version } = await at.service.getLimits(bounded.ada);
    await at.service.replaceLimits(bounded.ada, { version, limits: [{ ...DAY, value: '199' }] });

    // Read once to find that what it was prepared of has changed.
    expect(await wayOf(() => pay(one, bounded, '100'))).toEqual([REMEMBERED, READ, READ, 'limit_exceeded']);
    expect(await wayOf(() => pay(one, bounded, '99'))).toEqual([REMEMBERED, undefined]);
  });

  it('name no user of another workspace', async () => {
    const second = await payer();
    await at.service.replaceLimits(second.ada, { version: 0, limits: [DAY] });
    await Promise.all([pay(one, bounded, '100', bounded.bob), pay(one, second, '100')]);

    expect(await wayOf(() => pay(one, bounded, '1'))).toEqual([READ, undefined]);
    expect(await wayOf(() => pay(one, second, '1', second.bob))).toEqual([READ, undefined]);
  });

  it('make the orders of their workspace wait alone while another session has locked them', async () => {
    await pay(one, bounded, '100');
    await pay(one, free, '100');
    const { owner } = at.world;
    await owner.query('begin');
    await owner.query('select from limit_list where workspace_id = $1 for update', [bounded.ada.workspaceId]);
    const waiting = pay(one, bounded, '100');

    const isFree = await pay(one, free, '100');
    await owner.query('rollback');

    expect([isFree, await waiting]).toEqual([undefined, undefined]);
    expect(await used()).toEqual(['200']);
  });
});
