import type { Order, RecipientId, Transaction } from '@banking/domain';
import type { Service } from '../service.js';
import { idOf } from '../world.js';
import { Payer } from './paying.js';
import { DATA, INDIA } from './recipients.js';
import { faultsIn } from './shapes.js';
import { EVER } from './statements.js';

/** The sandbox network sends no event of its own for payments to this account number. */
const SILENT = '50100123459011';

/** The order of a transaction, the transaction that it reverses, and the return that reverses it. */
export function transactionLinksContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);

  describe('links of a transaction', () => {
    it('links payment, fee, return and order of a rejected payment to each other', async () => {
      const account = await ada.account('100000000');
      const data = { ...DATA, beneficiaryAccountNumber: SILENT };
      const { resource } = await ada.view.recipients.addInternational({ ...INDIA, data, saved: false });
      const recipientID: RecipientId = resource.id;
      const { body } = await ada.send(account.id, {
        amount: '100000',
        recipientID,
        type: 'instant',
        purposeCode: 'IR002',
      });
      const order = body as Order;
      const { id, ...placed } = order.edges.executions![0]!.edges.transaction!;
      expect(placed).toMatchObject({ orderID: order.id });
      expect(placed).not.toHaveProperty('returnOf');
      expect(placed).not.toHaveProperty('returnedBy');

      const rejected = (
        await ada.sendRequest(`/sandbox/transactions/${id}/events`, { body: { status: 'RJCT', reasonCode: 'AC04' } })
      ).body as Transaction;

      expect(faultsIn(rejected, 'Transaction')).toEqual([]);
      expect(rejected).toMatchObject({
        id,
        status: 'failed',
        orderID: order.id,
        returnedBy: expect.any(Number) as number,
      });
      const { items } = await ada.view.transfers.listPage({ accountId: account.id });
      expect(items.flatMap((item) => faultsIn(item, 'Transfer'))).toEqual([]);
      const shown = items.map(({ type, edges }) => [
        type,
        edges.transaction?.orderID,
        edges.transaction?.returnOf,
        edges.transaction?.returnedBy,
      ]);
      expect(shown).toEqual([
        ['return', undefined, id, undefined],
        ['fee', order.id, undefined, rejected.returnedBy],
        ['spot', order.id, undefined, rejected.returnedBy],
        ['funding', undefined, undefined, undefined],
      ]);
      expect((await ada.view.transfers.get(items[0]!.id)).edges.transaction).toMatchObject({
        id: rejected.returnedBy,
        returnOf: id,
      });
      expect((await ada.view.orders.get(account.id, order.id)).edges.executions![0]!.edges.transaction).toEqual(
        rejected,
      );
      for (const [, period] of EVER) {
        const { movements } = await ada.view.accounts.statement(account.id, period);
        expect(
          [...movements]
            .reverse()
            .map(({ type, orderID, returnOf, returnedBy }) => [type, orderID, returnOf, returnedBy]),
        ).toEqual(shown);
      }
    });

    it('links the rejected payment of the demo data to its return', async () => {
      const { edges } = await ada.view.transfers.get(idOf(service.world, 'transfers', 'returned'));

      const { items } = await ada.view.transfers.listPage({ type: 'return', limit: 500 });

      const returned = items.find(({ edges: { transaction } }) => transaction?.id === edges.transaction?.returnedBy);
      expect(returned?.edges.transaction?.returnOf).toBe(edges.transaction?.id);
    });
  });
}
