import type { Transaction, TransactionId, TransferId } from '@banking/domain';
import { reasonOf } from '@banking/postgres/testing';
import { expectWellFormed } from '../testing/order-world.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
let { world, service, ada } = {} as OrderWorld;

beforeAll(async () => {
  ({ world, service, ada } = await orderWorld());
});
afterAll(() => world.close());

const ofTransfer = async (name: string): Promise<Transaction> => {
  const { edges } = await service.getTransfer(ada, { transferId: world.demo.transfers[name] as TransferId });
  return edges.transaction!;
};

describe('one transaction', () => {
  it.each(['funding', 'internal', 'international', 'pending', 'returned', 'spot'])(
    'is the one that the transfer "%s" shows, with its transfers and tracking',
    async (name) => {
      const expected = await ofTransfer(name);

      const transaction = await service.getTransaction(ada, { transactionId: expected.id });

      expectWellFormed(transaction);
      expect(transaction).toEqual(expected);
    },
  );

  it('is read by the ids that link a failed payment and its return', async () => {
    const { id, returnedBy } = await ofTransfer('returned');

    expect(await service.getTransaction(ada, { transactionId: returnedBy! })).toMatchObject({ returnOf: id });
  });

  it('is each one of the workspace, and none of another', async () => {
    const { rows } = await world.owner.query<{ id: bigint; workspace: bigint }>(
      'select id, workspace_id as workspace from transaction',
    );
    const outcome = async (id: bigint) => {
      const transactionId = Number(id) as TransactionId;
      return service.getTransaction(ada, { transactionId }).then(
        (transaction) => transaction.id,
        async (error: unknown) => reasonOf(Promise.reject(error as Error)),
      );
    };

    const ours = BigInt(ada.workspaceId!);
    const mine = rows.filter(({ workspace }) => workspace === ours);
    const others = rows.filter(({ workspace }) => workspace !== ours);

    expect(mine.length).toBeGreaterThan(8);
    expect(others.length).toBeGreaterThan(0);
    for (const { id } of mine) expect(await outcome(id)).toBe(Number(id));
    for (const id of [...others.map((row) => row.id), 999_999_999n]) {
      expect(await outcome(id)).toBe('transaction_not_found');
    }
  });
});
