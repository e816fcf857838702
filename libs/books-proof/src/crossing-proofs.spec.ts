import { exportBooks } from './export-books.js';
import { add, fromBalanceAmount, parseTransferAmount, subtract } from '@banking/domain';
import { proveExport } from '@banking/domain/proof';
import { verifyBooks } from '@banking/ledger';
import { amountOf, crossingWorld, type CrossingWorld, verifyPayments } from '@banking/operations/testing';

let at: CrossingWorld;

beforeAll(async () => {
  at = await crossingWorld();
});
afterAll(() => at.close());

async function provenExport({ world, workspaceId }: CrossingWorld['payers']) {
  const pieces: string[] = [];
  await exportBooks(
    world.database,
    { id: workspaceId, name: 'Northwind Trading' },
    async (text) => void pieces.push(text),
  );
  return proveExport(pieces.join('').trimEnd().split('\n'));
}

describe('the books of both databases with payments between them', () => {
  it('are in order, are proved by their exports, and add up in statements, at each step', async () => {
    const [from, dollars] = [await at.payer(100_000n), await at.payer(100_000n, 2)];
    const [to, closed] = [await at.payee(), await at.payee()];
    const [recipient, other] = [await at.recipientFor(to), await at.recipientFor(closed)];
    await at.paid.changeAccount(at.scope, { accountId: closed.id, status: 'disabled' });
    const check = async () => {
      for (const side of [at.payers, at.payees]) {
        const { findings } = await verifyBooks(side.world.database, [side.workspaceId]);
        expect(findings).toEqual([]);
        expect(await verifyPayments(side.world.database, [side.workspaceId])).toEqual([]);
        const proof = await provenExport(side);
        expect(proof.transactions).toBeGreaterThan(0);
      }
      for (const [service, { id }] of [
        [at.paying, from],
        [at.paying, dollars],
        [at.paid, to],
      ] as const) {
        const period = { from: '2020-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' };
        const statement = await service.getStatement(at.scope, { accountId: id, ...period });
        const sum = statement.movements.reduce((balance, { direction, amount }) => {
          const moved = parseTransferAmount(amount);
          return direction === 'credit' ? add(balance, moved) : subtract(balance, moved);
        }, fromBalanceAmount(statement.openingBalance));
        expect(sum).toBe(fromBalanceAmount(statement.closingBalance));
        expect(sum).toBe(await at.balanceOf(service, id));
      }
    };

    await at.order(from.id, recipient, { description: 'Invoice 9' });
    await at.order(dollars.id, recipient, { amount: amountOf(5_000) });
    await at.order(from.id, other);
    await check();
    await at.settle();
    await check();

    expect((await at.crossings()).map(({ status }) => status).sort()).toEqual(['completed', 'completed', 'returned']);
    expect(at.errors).toEqual([]);
  });
});
