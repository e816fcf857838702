import type { QueuedWork } from '@banking/work-queue';
import { OPERATOR, World } from './testing/world.js';

const world = new World();
let orderId: number;
const resume = (id: number, ...more: readonly string[]) =>
  world.run(['order', 'resume', String(id), '--workspace', '1', ...more]);

beforeAll(async () => {
  await world.openDemo();
  const [order] = await world.query(`
    update customer_order set paused_at = now(), pause_reason = 'payouts_rejected'
    where id = (select min(id) from customer_order where type = 'recurring' and status = 'active') returning id::int`);
  orderId = order!['id'] as number;
  await world.query(
    `update work set parked_at = now(), reason = 'order ' || $1 || ' is paused'
     where kind = 'execution' and subject_id in (select id from execution where order_id = $1::bigint and status = 'scheduled')`,
    orderId,
  );
});
afterAll(() => world.close());

describe('banking order resume', () => {
  it('makes the next run due, and refuses a second time', async () => {
    const [parked] = await world.json<[QueuedWork]>('work', 'list', '--parked');

    expect(await resume(orderId)).toEqual({
      exitCode: 0,
      stdout: `Resumed order ${orderId} of workspace 1. Its next run is due now.\n`,
      stderr: '',
    });

    expect(await world.json('work', 'list')).toContainEqual(
      expect.objectContaining({ kind: 'execution', subjectId: parked.subjectId, state: 'waiting', tries: 0 }),
    );
    expect(await resume(orderId)).toMatchObject({
      exitCode: 1,
      stderr: `The order ${orderId} of workspace 1 is not paused.\n`,
    });
    expect(await resume(999_999)).toMatchObject({ exitCode: 1, stderr: 'There is no order 999999 of workspace 1.\n' });
  });

  it('requires --placer if the placer has no role, and records the actor', async () => {
    const cy = `(select id from app_user where email = 'cy@northwind.example')`;
    await world.query(
      `update customer_order set paused_at = now(), pause_reason = 'placer_without_role', placed_by = ${cy} where id = $1`,
      orderId,
    );

    expect(await resume(orderId)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('(cy@northwind.example) is no member of the workspace') as string,
    });
    expect(await resume(orderId, '--placer', 'eve@southwind.example')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/^eve@southwind\.example is no member of workspace 1/) as string,
    });
    expect(await resume(orderId, '--placer', 'Ada@Northwind.example')).toMatchObject({ exitCode: 0 });

    expect(await world.query('select changed_by, after from order_change order by id desc limit 1')).toEqual([
      { changed_by: OPERATOR, after: { status: 'active', pauseReason: null, placedBy: 1 } },
    ]);
  });
});
