import { demoWorld } from './testing/worlds.js';
import { findAttention } from './verify-attention.js';
import { verifyPayments } from './verify-payments.js';

let world: Awaited<ReturnType<typeof demoWorld>>;

beforeEach(async () => {
  world = await demoWorld();
});
afterEach(() => world.close());

const all = () => Object.values(world.demo.workspaces);

describe('Given work that is parked', () => {
  beforeEach(() =>
    world.owner.query(
      `update work set parked_at = now(), tries = 10, reason = 'rate_unavailable'
       where kind = 'execution' and subject_id = (select min(subject_id) from work where kind = 'execution')`,
    ),
  );

  it('When attention is asked for, Then the run, its order and the reason are named', async () => {
    const { rows } = await world.owner.query<{ execution: bigint; order: bigint; workspaceId: number }>(
      `select k.subject_id as execution, e.order_id as "order", k.workspace_id::int as "workspaceId"
       from work k join execution e on e.id = k.subject_id where k.parked_at is not null`,
    );
    const { execution, order, workspaceId } = rows[0]!;
    const detail = `^execution ${execution} of order ${order} is parked since 2\\S+Z \\(tries: 10\\): rate_unavailable$`;

    expect(await findAttention(world.database, all())).toEqual([
      { kind: 'parked work', workspaceId, detail: expect.stringMatching(detail) },
    ]);
  });

  it('When payments are verified, Then it is no finding', async () => {
    expect(await verifyPayments(world.database, all())).toEqual([]);
  });

  it('When another workspace is asked about, Then nothing is told', async () => {
    const { rows } = await world.owner.query<{ id: bigint }>('select workspace_id as id from work where parked_at is not null'); // prettier-ignore
    const others = all().filter((id) => id !== Number(rows[0]!.id));

    expect(await findAttention(world.database, others)).toEqual([]);
  });
});
