import { RULE_VIOLATION } from '@banking/postgres';
import type { Order } from '@banking/domain';
import { listWork } from '@banking/work-queue';
import { addGrant, removeGrant, removeUser, resumeUser, suspendUser } from '../provisioning/index.js';
import { reasonOf } from '@banking/postgres/testing';
import { PAUSED, placerWorld, statesOf } from '../testing/order-world.js';

let world: Awaited<ReturnType<typeof placerWorld>>;

beforeAll(async () => {
  world = await placerWorld();
});
afterAll(() => world.close());
afterEach(() => world.expectInOrder());

const loseGrant = (email: string) => removeGrant(world.provisioning, 'ops', { workspaceId: world.workspaceId, email });
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
    const reason = `order ${order.orderId} is paused: the user who placed it has no role in the workspace; see banking order resume`;
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

  it('runs on if the role is another one, or is back before the next run', async () => {
    const { id, email } = await world.member('admin');
    const order = await world.orderOf(id);
    await addGrant(world.provisioning, 'ops', { workspaceId: world.workspaceId, email, role: 'member' });
    expect(statesOf(await order.day(1))).toEqual(['completed', 'scheduled']);
    await suspend(email);
    await resumeUser(world.provisioning, 'ops', email);

    expect(statesOf(await order.day(2))).toEqual(['completed', 'completed', 'scheduled']);
  });

  it('is paused if the placer has a role in another workspace only', async () => {
    const { id, email } = await world.member();
    const order = await world.orderOf(id);
    const personal = world.demo.workspaces['Ada personal'] as number;
    await addGrant(world.provisioning, 'ops', { workspaceId: personal, email, role: 'admin' });
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
