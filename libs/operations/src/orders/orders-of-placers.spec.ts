import type { Order } from '@banking/domain';
import { RULE_VIOLATION } from '@banking/postgres';
import { reasonOf } from '@banking/postgres/testing';
import { listWork } from '@banking/work-queue';
import {
  addGrants,
  removeGrants,
  removeUser,
  resumePausedOrder,
  resumeUser,
  suspendUser,
} from '../provisioning/index.js';
import { ADA, PAUSED, placerWorld, statesOf } from '../testing/order-world.js';

let world: Awaited<ReturnType<typeof placerWorld>>;

beforeAll(async () => {
  world = await placerWorld();
});

afterAll(() => world.expectInOrder().finally(() => world.close()));

const loseGrant = (email: string) => removeGrants(world.provisioning, 'ops', { workspaceId: world.workspaceId, email });
const suspend = (email: string) => suspendUser(world.provisioning, 'ops', email);
const remove = (email: string) => removeUser(world.provisioning, 'ops', email);
const block = (email: string) => world.owner.query(`update app_user set status = 'blocked' where email = $1`, [email]);

const switchAccount = (status: 'enabled' | 'disabled') =>
  world.service.changeAccount(world.ada, { accountId: world.accountId, status });

const runOf = ({ edges }: Order) => edges.executions?.at(-1)?.id ?? 0;

const workOfRun = async (order: Order) =>
  (await listWork(world.db, { isParked: false, limit: 1_000 })).filter(({ subjectId }) => subjectId === runOf(order));

describe('a later order whose placer loses the role', () => {
  it.each<[string, (email: string) => Promise<unknown>]>([
    ['the grant is removed', loseGrant],
    ['the user is suspended', suspend],
    ['the user is removed', remove],
    ['the status is one that is not known', block],
  ])('is paused and its next run parked if %s', async (_, lose) => {
    const { id, email } = await world.member();
    const order = await world.orderOf(id);
    expect(statesOf(await order.day(1))).toEqual(['completed', 'scheduled']);

    await lose(email);
    const paused = await order.day(3);

    expect(paused).toMatchObject(PAUSED);
    expect(statesOf(paused)).toEqual(['completed', 'scheduled']);
    const reason = `order ${order.orderId} is paused: the user who placed it is no member of the workspace; see banking order resume`;
    expect(await workOfRun(paused)).toMatchObject([{ kind: 'execution', state: 'parked', reason }]);
    expect(await order.day(5)).toEqual(paused);
  });

  it('is paused if it was to run once', async () => {
    const { id, email } = await world.member();
    const order = await world.orderOf(id, 'scheduled');
    await loseGrant(email);

    expect(await order.day(1)).toMatchObject(PAUSED);
  });

  it('is paused and has not failed where the run would be refused too', async () => {
    const { id, email } = await world.member();
    const order = await world.orderOf(id, 'scheduled');
    await loseGrant(email);
    await switchAccount('disabled');
    const paused = await order.day(1);
    await switchAccount('enabled');

    expect(paused).toMatchObject(PAUSED);
    expect(statesOf(paused)).toEqual(['scheduled']);
  });

  it('is paused if the role is lost while the run is decided, because the database rejects the run', async () => {
    const { id, email } = await world.member();
    const order = await world.orderOf(id);
    world.onceReadRun(() => suspend(email));

    const paused = await order.day(1);

    expect(paused).toMatchObject(PAUSED);
    expect(statesOf(paused)).toEqual(['scheduled']);
  });

  it('is paused if the placer keeps other roles than that of a member', async () => {
    const { id, email } = await world.member('viewer', 'member', 'approver', 'admin');
    const order = await world.orderOf(id);
    await removeGrants(world.provisioning, 'ops', { workspaceId: world.workspaceId, email, roles: ['member'] });

    expect(await order.day(1)).toMatchObject(PAUSED);
  });

  it('runs on if the placer is a member of any further role, or again before the next run', async () => {
    const { id, email } = await world.member('admin', 'member');
    const order = await world.orderOf(id);
    await removeGrants(world.provisioning, 'ops', { workspaceId: world.workspaceId, email, roles: ['admin'] });
    expect(statesOf(await order.day(1))).toEqual(['completed', 'scheduled']);
    await suspend(email);
    await resumeUser(world.provisioning, 'ops', email);

    expect(statesOf(await order.day(2))).toEqual(['completed', 'completed', 'scheduled']);
  });

  it('is paused if the placer has a role in another workspace only', async () => {
    const { id, email } = await world.member();
    const order = await world.orderOf(id);
    const personal = world.demo.workspaces['Ada personal'] as number;
    await addGrants(world.provisioning, 'ops', { workspaceId: personal, email, roles: ['admin', 'member'] });
    await loseGrant(email);

    expect(await order.day(1)).toMatchObject(PAUSED);
  });

  it('runs if the deployment itself placed it', async () => {
    const order = await world.orderOf(undefined);

    expect(statesOf(await order.day(1))).toEqual(['completed', 'scheduled']);
  });
});

describe('a run that is being posted', () => {
  /** Runs a database transaction of the owner, whom row-level security binds in functions that lock. */
  async function begin(orderId: number) {
    await world.owner.query('begin');
    await world.owner.query(`select set_config('app.workspaces', $1, true)`, [`{${world.workspaceId}}`]);
    return () =>
      world.owner.query(`update execution set status = 'failed', failure_code = 'x' where order_id = $1`, [orderId]);
  }
  /** Waits until another session waits for a lock of the owner. */
  async function untilBlocked() {
    for (let isBlocked = false; !isBlocked;) {
      const { rows } = await world.owner.query<{ is_blocked: boolean }>(
        'select exists (select from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))) as is_blocked',
      );
      isBlocked = rows[0]!.is_blocked;
    }
  }

  it.each<[string, (email: string) => Promise<unknown>]>([
    ['the grant is removed', loseGrant],
    ['the user is suspended', suspend],
    ['the user is removed', remove],
  ])('makes the loss of the role wait: %s', async (_, lose) => {
    const { id, email } = await world.member();
    const { orderId } = await world.orderOf(id);
    const book = await begin(orderId);
    await book();

    const losing = lose(email);
    await untilBlocked();
    await world.owner.query('rollback');

    expect(await reasonOf(losing)).toBeUndefined();
  });

  it('is rejected by the database if the role was lost before', async () => {
    const { id, email } = await world.member();
    const { orderId } = await world.orderOf(id);
    await loseGrant(email);
    const book = await begin(orderId);

    await expect(book()).rejects.toMatchObject({ code: RULE_VIOLATION.orderPaused });

    await world.owner.query('rollback');
  });
});

describe('an order that is paused because its placer has no role', () => {
  const CY = 'cy@northwind.example';
  let workspaceId: number;

  beforeAll(async () => {
    workspaceId = world.workspaceId;
  });

  const paused = async (type?: 'scheduled') => {
    const placer = await world.member();
    const order = await world.orderOf(placer.id, type);
    await removeGrants(world.provisioning, 'ops', { workspaceId, email: placer.email });
    expect(await order.day(1)).toMatchObject(PAUSED);
    const resume = (email?: string) =>
      reasonOf(resumePausedOrder(world.db, { workspaceId, orderId: order.orderId, placer: email }));
    return { ...order, placer, /** The message of a refusal; undefined when it was resumed. */ resume };
  };

  it('is not resumed for the same placer until the placer has a role', async () => {
    const { orderId, placer, resume, read } = await paused();
    const before = await read();

    expect(await resume()).toBe(
      `The user who placed order ${orderId} of workspace ${workspaceId} (${placer.email}) is no member of the workspace, so it would be paused ` +
        'again. Give the user the role member back, or hand the order to another user with --placer.',
    );
    expect(await read()).toEqual(before);
    await addGrants(world.provisioning, 'ops', { workspaceId, email: placer.email, roles: ['member'] });
    expect(await resume()).toBeUndefined();
    await world.work();

    const after = await read();
    expect([after.pausedAt, after.pauseReason, statesOf(after)]).toEqual([
      undefined,
      undefined,
      ['completed', 'scheduled'],
    ]);
  });

  it('runs for another user it is handed to, and its trail names the login of the operator', async () => {
    const { orderId, placer, resume, day } = await paused('scheduled');
    const ada = world.ada.actor;

    expect(await resume('Ada@Northwind.example')).toBeUndefined();

    expect(await day(2)).toMatchObject({ status: 'completed', edges: { executions: [{ status: 'completed' }] } });
    const login = expect.any(String) as string;
    const state = (placedBy: number, pauseReason: string | null) => ({ status: 'active', placedBy, pauseReason });
    expect(await world.trail(orderId)).toEqual([
      { by: login, user_id: null, before: state(placer.id, null), after: state(placer.id, 'placer_without_role') },
      { by: login, user_id: null, before: state(placer.id, 'placer_without_role'), after: state(ada, null) },
    ]);
  });

  it('stays paused if it is handed to a user without a role, or to none', async () => {
    const { resume, read } = await paused();

    for (const email of [CY, 'eve@southwind.example']) {
      expect(await resume(email)).toBe(
        `${email} is no member of workspace ${workspaceId}: only a completed user with the role member is. See banking user list and banking grant list.`,
      );
    }
    expect(await resume('x@x.example')).toBe('There is no user x@x.example. See banking user list.');
    expect(await read()).toMatchObject(PAUSED);
  });

  it('is resumed for another user if the placer was removed, and the message says so', async () => {
    const { orderId, placer, resume, day } = await paused();
    await removeUser(world.provisioning, 'ops', placer.email);

    expect(await resume()).toContain(`The user who placed order ${orderId} of workspace ${workspaceId} was removed`);
    expect(await resume(ADA)).toBeUndefined();
    expect(statesOf(await day(2))).toEqual(['completed', 'scheduled']);
  });

  it('is not paused again if it is resumed between the read of its run and the pause', async () => {
    const { orderId, resume, read } = await paused();
    await world.owner.query(
      `update work w set parked_at = null, due_at = now() from execution e where e.order_id = $1 and w.kind = 'execution' and w.subject_id = e.id`,
      [orderId],
    );
    world.onceReadRun(() => resume(ADA));

    await world.work();

    const after = await read();
    expect([after.pausedAt, statesOf(after)]).toEqual([undefined, ['completed', 'scheduled']]);
  });

  it('runs for the administrator who resumes it over the API, and its trail names the administrator', async () => {
    const { orderId, placer, read, day } = await paused();
    const resumed = await world.service.resumeOrder(world.ada, { accountId: world.accountId, orderId });

    expect([resumed.status, resumed.pausedAt, resumed.pauseReason]).toEqual(['active', undefined, undefined]);
    await world.work();
    expect(statesOf(await read())).toEqual(['completed', 'scheduled']);
    expect(statesOf(await day(2))).toEqual(['completed', 'completed', 'scheduled']);
    expect((await world.trail(orderId)).at(-1)).toMatchObject({
      user_id: BigInt(world.ada.actor),
      before: { placedBy: placer.id },
      after: { placedBy: world.ada.actor, pauseReason: null },
    });
  });

  it('is not resumed over the API by a user who has just lost the role', async () => {
    const { orderId, placer, read } = await paused();

    const resuming = world.service.resumeOrder(
      { ...world.ada, actor: placer.id },
      { accountId: world.accountId, orderId },
    );

    expect(await reasonOf(resuming)).toBe('role_insufficient');
    expect(await read()).toMatchObject(PAUSED);
  });

  it('is not resumed over the API for an administrator who is no member', async () => {
    const { orderId, read } = await paused();
    const { id: actor } = await world.member('admin', 'approver', 'viewer');

    const resuming = world.service.resumeOrder({ ...world.ada, actor }, { accountId: world.accountId, orderId });

    expect(await reasonOf(resuming)).toBe('role_insufficient');
    expect(await read()).toMatchObject(PAUSED);
  });

  it('runs for its placer again if an administrator resumes it over the API while the placer is a member', async () => {
    const { orderId, placer, read } = await paused();
    const { id: actor } = await world.member('admin');
    await addGrants(world.provisioning, 'ops', { workspaceId, email: placer.email, roles: ['member'] });

    await world.service.resumeOrder({ ...world.ada, actor }, { accountId: world.accountId, orderId });
    await world.work();

    expect(statesOf(await read())).toEqual(['completed', 'scheduled']);
    expect((await world.trail(orderId)).at(-1)).toMatchObject({
      user_id: BigInt(actor),
      after: { placedBy: placer.id, pauseReason: null },
    });
  });

  it('is not resumed by another account or workspace, or while it is active', async () => {
    const { orderId, resume } = await paused();
    const { accountId, ada, service } = world;
    const personal = { ...ada, workspaceId: world.demo.workspaces['Ada personal'] as typeof ada.workspaceId };
    const other = world.demo.accounts['Northwind Trading EUR'] as typeof accountId;

    expect(await reasonOf(service.resumeOrder(ada, { accountId: other, orderId }))).toBe('order_not_found');
    expect(await reasonOf(service.resumeOrder(personal, { accountId, orderId }))).toBe('order_not_found');
    expect(await resume(ADA)).toBeUndefined();
    expect(await reasonOf(service.resumeOrder(ada, { accountId, orderId }))).toBe('order_not_paused');
  });

  it('has a trail that names who cancelled it', async () => {
    const { orderId, placer } = await paused();
    await world.service.cancelOrder(world.ada, { accountId: world.accountId, orderId });

    expect((await world.trail(orderId)).at(-1)).toMatchObject({
      user_id: BigInt(world.ada.actor),
      after: { status: 'cancelled', placedBy: placer.id, pauseReason: null },
    });
  });

  it('changes its placer only with a resumption, and keeps its trail under any SQL', async () => {
    const { orderId, placer } = await paused('scheduled');
    const change = (text: string) => world.owner.query(`update customer_order set ${text} where id = $1`, [orderId]);
    const ada = world.ada.actor;

    await expect(change(`placed_by = ${ada}`)).rejects.toMatchObject({ code: RULE_VIOLATION.illegalStep });
    await expect(change('placed_by = null, paused_at = null, pause_reason = null')).rejects.toMatchObject({
      code: RULE_VIOLATION.illegalStep,
    });
    await expect(
      change(`placed_by = ${placer.id + 1000}, paused_at = null, pause_reason = null`),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.illegalStep });
    await expect(change(`pause_reason = 'payouts_rejected'`)).rejects.toMatchObject({
      constraint: 'customer_order_pause',
    });
    await expect(change(`pause_reason = 'another'`)).rejects.toMatchObject({ constraint: 'customer_order_pause' });
    await expect(world.owner.query('update order_change set changed_by = $1', ['x'])).rejects.toMatchObject({
      code: RULE_VIOLATION.recordChanged,
    });
  });
});
