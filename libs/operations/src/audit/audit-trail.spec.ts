import {
  type Origin,
  type PlaceOrderInput,
  type RecipientId,
  Refusal,
  type Scope,
  type TransferAmount,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { releaseParkedWork, SANDBOX_ROUTING, sandboxRails } from '@banking/payouts';
import { bind, SQLSTATE } from '@banking/postgres';
import { DEMO_RATES } from '@banking/reference';
import { Worker } from '@banking/work-queue';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { demoDatabase, emptyDatabase, type TestDatabase } from '../testing/test-databases.js';
import { workOf } from '../worker/start-banking-worker.js';
import { auditEntry, BY_SYSTEM, noteAudit } from './audited-call.js';
import { COUNT_UNRECORDED_AUDIT, recordAudit } from './record-audit.js';
import { hasWorkspace, noteRefusals, type RefusedRequest, RefusedRequests } from './refused-requests.js';

describe('the audit trail', () => {
  let world: Awaited<ReturnType<typeof demoDatabase>>;
  let service: LedgerBankingService;
  let ada: Scope & { workspaceId: WorkspaceId; actor: UserId };

  const ORIGIN: Origin = {
    issuer: 'https://issuer.example',
    subject: 'ada\u0000\ud800',
    tokenId: 'token-1',
    clientId: 'app-1',
    sourceAddress: '192.0.2.7',
  };

  beforeAll(async () => {
    world = await demoDatabase();
    service = new LedgerBankingService(
      world.database,
      world.books,
      { rates: DEMO_RATES, rails: SANDBOX_ROUTING },
      true,
    );
    ada = {
      actor: world.demo.users['ada@northwind.example'] as UserId,
      workspaceId: world.demo.workspaces['Northwind Trading'] as WorkspaceId,
      requestId: 'request-1',
      origin: ORIGIN,
    };
    await record();
  });

  afterAll(() => world.close());

  const record = async () => {
    while ((await recordAudit(world.database)) > 0);
  };

  const recorded = async () => {
    await record();
    return (await service.listAuditEvents(ada, { limit: 500 })).items;
  };

  const openAccount = async () => {
    const { resource } = await service.openAccount(ada, { productID: 1 as never });
    await service.fundAccount(ada, { accountId: resource.id, amount: '1000000' as TransferAmount });
    return resource.id;
  };

  const orderInput = (accountId: PlaceOrderInput['accountId']): PlaceOrderInput => ({
    accountId,
    recipientID: world.demo.recipients['internal'] as RecipientId,
    amount: '100' as TransferAmount,
    type: 'instant',
  });

  it('has each change with its user, credential, request and address, newest first', async () => {
    const accountId = await openAccount();
    const { resource: order } = await service.placeOrder(ada, orderInput(accountId));
    const [placed, funded, opened] = await recorded();

    expect(placed).toEqual({
      id: expect.any(Number) as number,
      createdAt: expect.stringMatching(/Z$/) as string,
      operation: 'placeOrder',
      outcome: 'done',
      resource: { type: 'order', id: order.id },
      actor: {
        type: 'user',
        userID: ada.actor,
        issuer: 'https://issuer.example',
        subject: 'ada\ufffd\ufffd',
        tokenID: 'token-1',
        clientID: 'app-1',
      },
      requestID: 'request-1',
      sourceAddress: '192.0.2.7',
      hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect([funded, opened]).toMatchObject([
      { operation: 'fundAccount', resource: { type: 'transfer' } },
      { operation: 'openAccount', resource: { type: 'account', id: accountId } },
    ]);
  });

  it('has nothing of a refused change, of a change without effect, and of a replay', async () => {
    const accountId = await openAccount();
    await service.openAccount(ada, { productID: 1 as never }, { idempotencyKey: 'once' });
    const [last] = await recorded();

    await service.openAccount(ada, { productID: 1 as never }, { idempotencyKey: 'once' });
    await service.changeAccount(ada, { accountId, status: 'enabled' });
    for (const refused of [
      service.changeAccount(ada, { accountId: 999_999 as never, alias: 'x' }),
      service.deleteRecipient(ada, { recipientId: 999_999 as never }),
      service.placeOrder(ada, { ...orderInput(accountId), amount: '99999999999' as TransferAmount }),
      service.cancelOrder(ada, { accountId, orderId: 999_999 as never }),
    ]) {
      await expect(refused).rejects.toMatchObject({ name: 'Refusal' });
    }

    expect((await recorded())[0]).toEqual(last);
  });

  it('chains many orders of several batches without a gap', async () => {
    const accounts = await Promise.all(Array.from({ length: 4 }, openAccount));
    await Promise.all(
      Array.from({ length: 60 }, (_, index) => service.placeOrder(ada, orderInput(accounts[index % 4]!))),
    );
    await record();

    const { rows } = await world.owner.query(
      `select count(*)::int as events, max(e.id)::int as last, count(distinct e.hash)::int as hashes, bool_and(e.hash = next_audit_hash(null,
         coalesce((select p.hash from audit_event p where (p.workspace_id, p.id) = (e.workspace_id, e.id - 1)), h.start_hash),
         audit_content(e.workspace_id, e.id, e.operation, e.outcome, e.reason, e.count, e.resource_type, e.resource_id, e.user_id, e.actor,
           e.request_id, e.source_address, e.created_at))) as chained, max(h.id)::int as head
       from audit_event e join audit_head h using (workspace_id) where e.workspace_id = $1`,
      [ada.workspaceId],
    );
    const [{ last }] = rows as [{ last: number }];
    expect(rows).toEqual([{ events: last, last, hashes: last, chained: true, head: last }]);
  });

  it('has the runs of the worker as its own, with the reason of a failed one', async () => {
    const { resource: account } = await service.openAccount(ada, { productID: 1 as never });
    const { resource: order } = await service.placeOrder(ada, {
      ...orderInput(account.id),
      type: 'scheduled',
      startAt: new Date(Date.now() + 86_400_000).toISOString(),
    });
    await world.owner.query('update work set due_at = now() where workspace_id = $1', [ada.workspaceId]);
    const worker = new Worker(workOf(world, { orders: service.orders, rails: sandboxRails }));
    while ((await worker.step()) > 0);

    expect(
      (await recorded()).find(({ operation, resource }) => operation === 'runOrder' && resource?.id === order.id),
    ).toMatchObject({
      outcome: 'refused',
      reason: 'insufficient_funds',
      resource: { type: 'order', id: order.id },
      actor: { type: 'system' },
    });
  });

  it('has the pause of an order by the worker, once', async () => {
    const { resource: account } = await service.openAccount(ada, { productID: 1 as never });
    const { resource: order } = await service.placeOrder(ada, {
      ...orderInput(account.id),
      type: 'scheduled',
      startAt: new Date(Date.now() + 86_400_000).toISOString(),
    });
    const setStatus = (status: string) =>
      world.owner.query('update app_user set status = $2 where id = $1', [ada.actor, status]);
    const executionId = order.edges.executions!.at(-1)!.id;
    const worker = new Worker(workOf(world, { orders: service.orders, rails: sandboxRails }));
    const run = async () => {
      await world.owner.query('update work set due_at = now() where subject_id = $1', [executionId]);
      while ((await worker.step()) > 0);
    };
    await setStatus('suspended');
    await run();
    const work = { workspaceId: ada.workspaceId, kind: 'execution', subjectId: executionId };
    expect(await releaseParkedWork(world.database, work)).toBe(true);
    await run();
    await setStatus('completed');

    expect((await recorded()).filter(({ operation }) => operation === 'pauseOrder')).toMatchObject([
      { outcome: 'done', resource: { type: 'order', id: order.id }, actor: { type: 'system' } },
    ]);
  });

  it('filters by user, operation, resource and time', async () => {
    const accountId = await openAccount();
    const all = await recorded();
    const [newest] = all;
    const listed = async (query: Parameters<typeof service.listAuditEvents>[1]) =>
      (await service.listAuditEvents(ada, { ...query, limit: 500 })).items;

    expect(await listed({ actor: ada.actor })).toEqual(all.filter(({ actor }) => actor.userID === ada.actor));
    expect(await listed({ operation: 'openAccount' })).toEqual(
      all.filter(({ operation }) => operation === 'openAccount'),
    );
    expect(await listed({ resourceType: 'account', resourceId: accountId })).toMatchObject([
      { operation: 'openAccount', resource: { id: accountId } },
    ]);
    await expect(listed({ resourceType: 'account' })).rejects.toMatchObject({ reason: 'parameter_invalid' });
    expect(await listed({ from: newest!.createdAt })).toContainEqual(newest);
    expect(await listed({ to: newest!.createdAt })).not.toContainEqual(newest);
    await expect(listed({ from: newest!.createdAt, to: '2020-01-01T00:00:00Z' })).rejects.toMatchObject({
      reason: 'timestamp_invalid',
    });
  });

  it('is hidden from other workspaces', async () => {
    const other = { ...ada, workspaceId: world.demo.workspaces['Southwind Imports'] as WorkspaceId };
    const mine = await recorded();
    const { items } = await service.listAuditEvents(other);
    const hashes = new Set(mine.map(({ hash }) => hash));

    expect(items.filter(({ hash }) => hashes.has(hash))).toEqual([]);
  });
});

const ADA = 2 as UserId;
const EVE = 3 as UserId;

const REFUSED: RefusedRequest = {
  workspaceId: 1 as WorkspaceId,
  isMember: true,
  userId: ADA,
  operation: 'openAccount',
  reason: 'rate_limited',
};

/** A request to a workspace in which the user has no role. */
const probe = (workspaceId: number, userId = EVE): RefusedRequest => ({
  ...{ workspaceId: workspaceId as WorkspaceId, isMember: false, userId },
  ...{ operation: 'listAccounts', reason: 'workspace_forbidden' },
});

describe('refused requests', () => {
  let nowMs: number;
  /** Workspace, user and count. */
  let written: (readonly number[])[];
  let requests: RefusedRequests;
  let isAvailable: boolean;
  beforeEach(() => {
    nowMs = 120_000;
    written = [];
    isAvailable = true;
    const refuseUnlessAvailable = () => {
      if (!isAvailable) throw new Refusal('unavailable');
    };
    requests = new RefusedRequests(
      {
        // Of 1,000 workspaces.
        exists: async (id) => (refuseUnlessAvailable(), id <= 1_000),
        write: async (id, refused) => {
          refuseUnlessAvailable();
          written.push(...refused.map(({ request, count }) => [id, request.userId, count]));
        },
      },
      () => nowMs,
    );
  });

  it('are written as one count when their minute is over', async () => {
    for (let count = 0; count < 3; count += 1) requests.add(REFUSED);
    await requests.flush();
    expect(written).toEqual([]);

    nowMs += 60_000;
    await requests.flush();
    await requests.flush();

    expect(written).toEqual([[1, ADA, 3]]);
  });

  it('to invented workspaces have one count for each user, and hide no others', async () => {
    for (let id = 0; id < 150; id += 1) requests.add(probe(1_000_000 + id));
    requests.add(probe(7));
    requests.add(probe(7));
    requests.add({ ...probe(8), workspaceId: undefined });
    requests.add(probe(7, ADA));
    await requests.flush({ isLast: true });

    expect(written).toEqual([
      [7, ADA, 1],
      [7, EVE, 2],
    ]);
    expect(requests.takeUncounted()).toEqual(new Map([[EVE, 151]]));
    expect(requests.takeUncounted()).toEqual(new Map());
  });

  it('beyond the bound of a user hide none of another user', async () => {
    for (let id = 1; id <= 600; id += 1) requests.add({ ...REFUSED, workspaceId: id as WorkspaceId });
    requests.add({ ...REFUSED, userId: EVE });
    await requests.flush({ isLast: true });

    expect(written.filter(([, userId]) => userId === ADA)).toHaveLength(500);
    expect(written).toContainEqual([1, EVE, 1]);
    expect(requests.takeUncounted()).toEqual(new Map([[ADA, 100]]));
  });

  it('of which many wait for a look-up are looked up one by one, and left out beyond a bound', async () => {
    for (let id = 1; id <= 250; id += 1) requests.add(probe(id));
    requests.add(probe(1, ADA));
    await requests.flush({ isLast: true });

    expect([written.length, requests.takeUncounted()]).toEqual([201, new Map([[EVE, 50]])]);
  });

  it('are written by a later call if the database is not available', async () => {
    isAvailable = false;
    requests.add(REFUSED);
    requests.add(probe(7));
    await expect(requests.flush({ isLast: true })).rejects.toMatchObject({ reason: 'unavailable' });

    isAvailable = true;
    await requests.flush({ isLast: true });
    await requests.flush({ isLast: true });

    expect([written, requests.takeUncounted()]).toEqual([[[1, ADA, 1]], new Map([[EVE, 1]])]);
  });

  it('become entries of a workspace that exists, which name a stranger by a pseudonym', async () => {
    const world = await demoDatabase();
    const { database } = world;
    const [near, far] = ['Northwind Trading', 'Ada personal'].map((name) => world.demo.workspaces[name] as WorkspaceId);
    const ofBooks = new RefusedRequests({
      exists: (id) => hasWorkspace(database, id),
      write: (id, refused) => noteRefusals(database, id, refused),
    });
    const origin = {
      issuer: 'https://login.example',
      subject: 'eve',
      clientId: 'app',
      tokenId: 't',
      sourceAddress: 's',
    };
    ofBooks.add({ ...REFUSED, workspaceId: near, origin });
    for (const id of [near, near, far, 999_999]) ofBooks.add({ ...probe(id!), origin });
    await ofBooks.flush({ isLast: true });
    while ((await recordAudit(database)) > 0);
    const entriesOf = async (workspaceId: WorkspaceId | undefined) => {
      const scope: Scope = { workspaceId };
      const { items } = await new LedgerBankingService(database, world.books).listAuditEvents(scope, { limit: 2 });
      return items.filter(({ outcome }) => outcome === 'refused');
    };
    const [nearby, away] = [await entriesOf(near), await entriesOf(far)];
    const { issuer, subject, clientId } = origin;
    const pseudonym = expect.stringMatching(/^[0-9a-f]{32}$/) as string;
    expect(nearby.map(({ actor, count }) => [actor, count])).toEqual(
      expect.arrayContaining([
        [{ type: 'user', userID: ADA, issuer, subject, clientID: clientId }, undefined],
        [{ type: 'user', pseudonym }, 2],
      ]),
    );
    expect(away.map(({ actor }) => actor)).toEqual([{ type: 'user', pseudonym }]);
    expect(nearby.map(({ actor }) => actor.pseudonym)).not.toContain(away[0]!.actor.pseudonym);
    expect((await world.owner.query('select from audit_outbox')).rows).toEqual([]);
    await world.close();
  });
});

describe('the outbox of the audit trail', () => {
  let world: TestDatabase;
  const WORKSPACE = 1;

  beforeAll(async () => {
    world = await emptyDatabase();
    await world.owner.query(`insert into app (id, name) values (1, 'Bank');
    insert into workspace (id, app_id, name) values (${WORKSPACE}, 1, 'One')`);
  });

  afterAll(() => world.close());

  const GOOD = { operation: 'openAccount', outcome: 'done', actor: { type: 'user' } };

  const insert = (entries: unknown) =>
    world.owner.query('insert into audit_outbox (workspace_id, entries) values ($1, $2)', [
      WORKSPACE,
      JSON.stringify(entries),
    ]);

  const unrecorded = () => world.database.read({}, bind(COUNT_UNRECORDED_AUDIT));

  it.each<[string, unknown]>([
    ['without an operation', { ...GOOD, operation: undefined }],
    ['with an operation too long for its index', { ...GOOD, operation: 'x'.repeat(101) }],
    ['with an unknown outcome', { ...GOOD, outcome: 'tried' }],
    ['with a refusal without a reason', { ...GOOD, outcome: 'refused' }],
    ['with a reason of what was done', { ...GOOD, reason: 'unavailable' }],
    ['with a type of a resource without its id', { ...GOOD, resourceType: 'order' }],
    ['with an id of a resource without its type', { ...GOOD, resourceId: 1 }],
    ['with an id of a resource that is not above zero', { ...GOOD, resourceType: 'order', resourceId: 0 }],
    ['with a user who is not above zero', { ...GOOD, userId: 0 }],
    ['with a count of zero', { ...GOOD, count: 0 }],
    ['without an actor', { ...GOOD, actor: undefined }],
    ['with null as its actor', { ...GOOD, actor: null }],
    ['with an unknown kind of actor', { ...GOOD, actor: { type: 'robot' } }],
    ['that is a text', 'openAccount'],
    ['that is an array', [GOOD]],
    ['that is null', null],
  ])('refuses an entry %s, also after a good one', async (_, entry) => {
    await expect(insert([GOOD, entry])).rejects.toMatchObject({
      code: SQLSTATE.checkViolation,
      constraint: 'audit_outbox_recordable',
    });
  });

  it.each<[string, unknown, string]>([
    ['an id that is a fraction', { ...GOOD, resourceType: 'order', resourceId: 1.5 }, '22P02'],
    ['an id beyond 64 bits', { ...GOOD, resourceType: 'order', resourceId: 1e19 }, '22003'],
    ['a user that is a text', { ...GOOD, userId: 'ada' }, '22P02'],
    ['a count beyond 32 bits', { ...GOOD, count: 2 ** 31 }, '22003'],
  ])('refuses %s', async (_, entry, code) => {
    await expect(insert([entry])).rejects.toMatchObject({ code });
  });

  it('refuses entries that are no array', async () => {
    await expect(insert(GOOD)).rejects.toMatchObject({ code: SQLSTATE.checkViolation });
  });

  it('accepts what the service writes, and the recorder records all of it', async () => {
    const entries = [
      auditEntry(WORKSPACE, { operation: 'runOrder', resource: { type: 'order', id: 2 ** 53 - 1 } }, BY_SYSTEM),
      auditEntry(WORKSPACE, { operation: 'runOrder', reason: 'insufficient_funds' }, { ...BY_SYSTEM, count: 3 }),
    ];
    await world.database.pipeline({ workspaces: [WORKSPACE] }, [noteAudit(entries)]);
    await insert([{ ...GOOD, operation: 'x'.repeat(100), userId: 7, requestId: 'é'.repeat(3000) }]);
    await world.owner.query(
      `insert into audit_outbox (workspace_id, entries, created_at) values ($1, '[]', now() - interval '5 minutes')`,
      [WORKSPACE],
    );
    // With the row of the new workspace.
    expect(await unrecorded()).toEqual({ waiting: 4, seconds: expect.closeTo(300, -2) as number });
    while ((await recordAudit(world.database)) > 0);

    const { rows } = await world.owner.query('select outcome, count from audit_event order by id desc limit 3');
    expect(rows).toEqual([
      { outcome: 'done', count: 1 },
      { outcome: 'refused', count: 3 },
      { outcome: 'done', count: 1 },
    ]);
    expect(await unrecorded()).toEqual({ waiting: 0, seconds: 0 });
  });

  it('splits the entries of one statement into rows of a hundred, in their order', async () => {
    const at = (index: number) => ({ resource: { type: 'order', id: index + 1 } });
    const entries = Array.from({ length: 250 }, (_, n) =>
      auditEntry(WORKSPACE, { operation: 'runOrder', ...at(n) }, BY_SYSTEM),
    );
    await world.database.pipeline({ workspaces: [WORKSPACE] }, [noteAudit(entries)]);
    expect(await unrecorded()).toMatchObject({ waiting: 3 });
    while ((await recordAudit(world.database)) > 0);

    const { rows } = await world.owner.query<{ resource: bigint }>(
      'select resource_id as resource from audit_event order by id desc limit 250',
    );
    expect(rows.map(({ resource }) => `${resource}`).reverse()).toEqual(entries.map((_, n) => `${n + 1}`));
  });

  it('gives rows of a workspace that is moved no place of others, and does not count them', async () => {
    await world.owner.query(`
      insert into cell_identity (number, name) values (0, 'home');
      insert into workspace (id, app_id, name) values (2, 1, 'Two');
      insert into cell_workspace (workspace_id, state) values (${WORKSPACE}, 'open'), (2, 'moving');
      delete from audit_outbox;
      insert into audit_outbox (workspace_id, entries) values (2, '[]'), (2, '[]'), (${WORKSPACE}, '[]')`);

    const { rows } = await world.owner.query('select workspaces_to_audit(1)::int as id');
    expect(rows).toEqual([{ id: WORKSPACE }]);
    expect(await unrecorded()).toMatchObject({ waiting: 1 });
  });
});
