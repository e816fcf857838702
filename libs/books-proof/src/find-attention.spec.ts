import { demoDatabase, verifyPayments } from '@banking/operations/testing';
import { keepRows } from '@banking/postgres/testing';
import { findAttention } from './find-attention.js';

let world: Awaited<ReturnType<typeof demoDatabase>>;
let restore: () => Promise<void>;

beforeAll(async () => {
  world = await demoDatabase();
  restore = await keepRows(world.owner);
});
afterEach(() => restore());
afterAll(() => world.close());

const all = () => Object.values(world.demo.workspaces);

describe('parked work', () => {
  beforeEach(() =>
    world.owner.query(
      `update work set parked_at = now(), tries = 10, reason = 'rate_unavailable'
       where kind = 'execution' and subject_id = (select min(subject_id) from work where kind = 'execution')`,
    ),
  );

  it('is listed with its execution, order and reason', async () => {
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

  it('is not a finding', async () => {
    expect(await verifyPayments(world.database, all())).toEqual([]);
  });

  it('is not listed for another workspace', async () => {
    const { rows } = await world.owner.query<{ id: bigint }>(
      'select workspace_id as id from work where parked_at is not null',
    );
    const others = all().filter((id) => id !== Number(rows[0]!.id));

    expect(await findAttention(world.database, others)).toEqual([]);
  });
});

describe('a payout that is due', () => {
  const due = async (status: string) => {
    const { rows } = await world.owner.query<{ id: bigint; workspaceId: number }>(
      `insert into payout (workspace_id, transaction_id, rail, status) select workspace_id, 1 + max(id), 'sandbox', $1 from transaction
       group by 1 order by 1 limit 1 returning transaction_id as id, workspace_id::int as "workspaceId"`,
      [status],
    );
    const { id, workspaceId } = rows[0]!;
    const insert = `insert into work (workspace_id, kind, subject_id, rail) values ($1, 'payout', $2, 'sandbox')`;
    await world.owner.query(insert, [workspaceId, id]);
    return { id, workspaceId };
  };

  it('is listed where no network serves it', async () => {
    const { id, workspaceId } = await due('due');

    const detail = expect.stringMatching(
      `^payout ${id} waits for the payment network sandbox, which is not configured, since 2\\S+Z$`,
    ) as string;
    expect(await findAttention(world.database, all(), { rails: ['other'] })).toEqual([
      { kind: 'payout without network', workspaceId, detail },
    ]);
    expect(await findAttention(world.database, all())).toEqual([]);
  });

  it('is listed after it is submitted too: no worker receives its events', async () => {
    await due('submitted');

    expect(await findAttention(world.database, all(), { rails: ['other'] })).toHaveLength(1);
    expect(await findAttention(world.database, all(), { rails: ['sandbox'] })).toEqual([]);
  });
});

describe('a stop of payouts', () => {
  it('is listed in each workspace with a finding', async () => {
    const [first] = all() as [number];
    const insert = `insert into payout_stop (finding_count, workspace_ids, findings) values (1, array[$1::bigint], '[]')`;
    await world.owner.query(insert, [first]);

    const detail = expect.stringMatching(/^payouts are stopped since 2\S+Z: a verification of the books had findings$/);
    expect(await findAttention(world.database, all())).toEqual([{ kind: 'payout stop', workspaceId: first, detail }]);
  });
});

describe('a bank account that differs from the books', () => {
  it('is listed in the workspace of its suspense account', async () => {
    const { rows } = await world.owner.query<{ code: string; workspaceId: number }>(
      'select code, workspace_id::int as "workspaceId" from account_code order by code limit 1',
    );
    const { code, workspaceId } = rows[0]!;
    await world.owner.query(
      `insert into bank_reconciliation (rail, bank_account, currency, suspense_account, difference_count, result)
       values ('bank-a', '1', 'EUR', $1, 2, '{}'), ('bank-a', '2', 'EUR', $1, 0, '{}')`,
      [code],
    );

    const detail = expect.stringMatching(/^bank account 1 of rail bank-a has 2 differences to the books since 2\S+Z$/);
    expect(await findAttention(world.database, all())).toEqual([{ kind: 'bank difference', workspaceId, detail }]);
  });
});
