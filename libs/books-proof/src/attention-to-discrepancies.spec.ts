import type { TransactionId, UserId, WorkspaceId } from '@banking/domain';
import { listDiscrepancies, recordEvent, resolveDiscrepancy, type Resolution, SANDBOX_ROUTING } from '@banking/payouts';
import { LedgerBankingService } from '@banking/operations';
import { demoDatabase, verifyPayments } from '@banking/operations/testing';
import { keepRows, plant } from '@banking/postgres/testing';
import { findAttention } from './find-attention.js';

let world: Awaited<ReturnType<typeof demoDatabase>>;
let restore: () => Promise<void>;
let northwind: number;

beforeAll(async () => {
  world = await demoDatabase();
  restore = await keepRows(world.owner);
  northwind = world.demo.workspaces['Northwind Trading']!;
});
afterEach(() => restore());
afterAll(() => world.close());

const verify = async () =>
  (await verifyPayments(world.database, Object.values(world.demo.workspaces))).map(({ check }) => check);
/** A payout of the demo data with this status. */
async function payout(status: string): Promise<number> {
  const { rows } = await world.owner.query<{ id: bigint }>(
    'select x.id from transaction x join payout p on p.transaction_id = x.id where x.status = $1 order by x.id limit 1',
    [status],
  );
  return Number(rows[0]!.id);
}

/** Records an event that contradicts the final status of a payout, and resolves the discrepancy. */
async function contradict(status: 'completed' | 'failed', resolution: Resolution): Promise<number> {
  const id = await payout(status);
  const event = { providerEvent: 'late', status: status === 'completed' ? 'RJCT' : 'ACCC' };
  await recordEvent(world.books, northwind, id, event);
  const [open] = await listDiscrepancies(world.database, [northwind]);
  await resolveDiscrepancy(world.books, {
    workspaceId: northwind,
    discrepancyId: open!.id,
    resolution,
    note: 'checked',
  });
  return id;
}

const REASON = 'every return is of a transaction that failed or came back, resolves a discrepancy or ends a deposit';
const CONTRADICTION = 'every contradictory event has its discrepancy';
const RESOLUTION = 'every resolution moved the money of its transaction, the way it says';

describe('the verification of discrepancies', () => {
  it.each([
    ['completed', 'returned'],
    ['failed', 'reclaimed'],
    ['completed', 'dismissed'],
  ] as const)('reports nothing if the discrepancy of a %s payout was %s', async (status, resolution) => {
    await contradict(status, resolution);

    expect(await verify()).toEqual([]);
  });

  it('reports nothing about an open discrepancy, which attention lists', async () => {
    const service = new LedgerBankingService(world.database, world.books, { rails: SANDBOX_ROUTING });
    const scope = { workspaceId: northwind as WorkspaceId, actor: world.demo.users['ada@northwind.example'] as UserId };
    const transactionId = (await payout('pending')) as TransactionId;

    for (const status of ['RJCT', 'ACCC'] as const) await service.addTransactionEvent(scope, { transactionId, status });

    expect(await listDiscrepancies(world.database, [northwind])).toMatchObject([
      { transactionId, kind: 'rejected_then_credited' },
    ]);
    expect(await verify()).toEqual([]);
    const detail = expect.stringMatching(
      `^discrepancy \\d+ of transaction ${transactionId} is open since .+: rejected_then_credited$`,
    );
    expect(await findAttention(world.database, [northwind])).toEqual([
      { kind: 'discrepancy', workspaceId: northwind, detail },
    ]);
  });

  it('reports the return and the contradiction without their discrepancy', async () => {
    await contradict('completed', 'returned');
    await plant(world.owner, 'delete from discrepancy');

    expect(await verify()).toEqual([REASON, CONTRADICTION]);
  });

  it('reports the return of money that the bank had again, without its event', async () => {
    const id = await payout('completed');
    await recordEvent(world.books, northwind, id, { providerEvent: 'back', status: 'RJCT', isReturn: true });
    expect(await verify()).toEqual([]);

    await plant(world.owner, 'update remittance_event set is_return = false where is_return');
    expect(await verify()).toEqual([REASON, CONTRADICTION]);
  });

  it('reports a correction without its discrepancy', async () => {
    await contradict('failed', 'reclaimed');
    await plant(world.owner, `update discrepancy set resolution = 'dismissed', resolution_transaction_id = null`);

    expect(await verify()).toEqual([REASON]);
  });

  it('reports two statuses under one event id without a discrepancy', async () => {
    await recordEvent(world.books, northwind, await payout('pending'), { providerEvent: 'demo-1', status: 'PDNG' });
    expect(await verify()).toEqual([]);
    await plant(world.owner, 'delete from discrepancy');

    expect(await verify()).toEqual([CONTRADICTION]);
  });

  it.each([
    ['names the other way', `update discrepancy set kind = 'event_reused', resolution = 'reclaimed'`],
    ['names another transaction', 'update discrepancy set transaction_id = (select min(id) from transaction)'],
  ])('reports a resolution that %s', async (_what, fault) => {
    await contradict('completed', 'returned');
    await plant(world.owner, fault);

    expect(await verify()).toContain(RESOLUTION);
  });
});
