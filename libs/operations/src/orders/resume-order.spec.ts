import { RULE_VIOLATION } from '@banking/postgres';
import { addGrant, removeGrant, removeUser, resumePausedOrder } from '../provisioning/index.js';
import { reasonOf } from '@banking/postgres/testing';
import { ADA, PAUSED, placerWorld, statesOf } from '../testing/order-world.js';

const CY = 'cy@northwind.example';

let world: Awaited<ReturnType<typeof placerWorld>>;
let workspaceId: number;

beforeAll(async () => {
  world = await placerWorld();
  workspaceId = world.workspaceId;
});
afterAll(() => world.close());
afterEach(() => world.expectInOrder());

describe('an order that is paused because its placer has no role', () => {
  const paused = async (type?: 'scheduled') => {
    const placer = await world.member();
    const order = await world.orderOf(placer.id, type);
    await removeGrant(world.provisioning, 'ops', { workspaceId, email: placer.email });
    expect(await order.day(1)).toMatchObject(PAUSED);
    const resume = (email?: string) =>
      reasonOf(resumePausedOrder(world.db, { name: 'Rosa' }, { workspaceId, orderId: order.orderId, placer: email }));
    return { ...order, placer, /** The message of a refusal; undefined when it was resumed. */ resume };
  };

  it('is not resumed for the same placer until the placer has a role', async () => {
    const { orderId, placer, resume, read } = await paused();
    const before = await read();

    expect(await resume()).toBe(
      `The user who placed order ${orderId} of workspace ${workspaceId} (${placer.email}) has no role in the workspace, so it would be paused ` +
        'again. Give the user the role back, or hand the order to another user with --placer.',
    );
    expect(await read()).toEqual(before);
    await addGrant(world.provisioning, 'ops', { workspaceId, email: placer.email, role: 'member' });
    expect(await resume()).toBeUndefined();
    await world.work();

    const after = await read();
    expect([after.pausedAt, after.pauseReason, statesOf(after)]).toEqual([
      undefined,
      undefined,
      ['completed', 'scheduled'],
    ]);
  });

  it('runs for another user it is handed to, and its trail names the operator', async () => {
    const { orderId, placer, resume, day } = await paused('scheduled');
    const ada = world.ada.actor;

    expect(await resume('Ada@Northwind.example')).toBeUndefined();

    expect(await day(2)).toMatchObject({ status: 'completed', edges: { executions: [{ status: 'completed' }] } });
    const login = expect.any(String) as string;
    const state = (placedBy: number, pauseReason: string | null) => ({ status: 'active', placedBy, pauseReason });
    expect(await world.trail(orderId)).toEqual([
      { by: login, user_id: null, before: state(placer.id, null), after: state(placer.id, 'placer_without_role') },
      { by: 'Rosa', user_id: null, before: state(placer.id, 'placer_without_role'), after: state(ada, null) },
    ]);
  });

  it('stays paused if it is handed to a user without a role, or to none', async () => {
    const { resume, read } = await paused();

    for (const email of [CY, 'eve@southwind.example']) {
      expect(await resume(email)).toBe(
        `${email} has no role in workspace ${workspaceId}: only a completed user with a grant has one. See banking user list and banking grant list.`,
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

    expect(await reasonOf(resuming)).toBe('workspace_forbidden');
    expect(await read()).toMatchObject(PAUSED);
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
