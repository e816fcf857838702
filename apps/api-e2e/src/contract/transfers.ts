import { BankingClient } from '@banking/client';
import type { Order, RecipientId, Transaction, Transfer } from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, idOf, type Service } from '../service.js';
import { faultsIn } from './shapes.js';
import { Payer } from './paying.js';
import { DATA, INDIA } from './recipients.js';
import { EVER } from './statements.js';

/** The fields of each transfer of the demo data that a reader may rely on. */
const DEMO = {
  funding: {
    direction: 'credit',
    type: 'funding',
    amount: '125000000',
    status: 'completed',
    currency: 'USD',
    visible: 1,
  },
  internal: {
    direction: 'debit',
    type: 'internal',
    amount: '4200000',
    status: 'completed',
    currency: 'USD',
    visible: 2,
  },
  international: {
    direction: 'debit',
    type: 'payout',
    amount: '1875000',
    status: 'completed',
    currency: 'EUR',
    visible: 2,
  },
  pending: { direction: 'debit', type: 'payout', amount: '320000', status: 'pending', currency: 'EUR', visible: 2 },
  returned: { direction: 'debit', type: 'payout', amount: '94000', status: 'failed', currency: 'EUR', visible: 2 },
  spot: { direction: 'debit', type: 'spot', amount: '250000', status: 'completed', currency: 'USD', visible: 2 },
} as const;

const PAID_OUT = ['international', 'pending', 'returned', 'spot'] as const;

export function transfersContract(provide: () => Service): void {
  const service = provide();
  const workspaceId = () => idOf(service.world, 'workspaces', 'Northwind Trading');
  const read = (name: string): Promise<Transfer> => {
    const client = new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(ADA) });
    return client.workspace(workspaceId()).transfers.get(idOf(service.world, 'transfers', name));
  };
  const eventsOf = ({ edges }: Transfer) => edges.transaction?.edges.internationalRemittance?.edges.events ?? [];

  describe('transfers', () => {
    it.each(Object.entries(DEMO))('returns "%s" in the published shape', async (name, expected) => {
      const transfer = await read(name);

      expect(faultsIn(transfer, 'Transfer')).toEqual([]);
      const { direction, type, amount, status, currency } = expected;
      expect(transfer).toMatchObject({ id: idOf(service.world, 'transfers', name), direction, type, amount });
      expect(transfer.edges.transaction?.status).toBe(status);
      expect(transfer.edges.account?.edges.currency.code).toBe(currency);
    });

    it.each(Object.keys(DEMO))('nests account, balance and transaction in "%s"', async (name) => {
      const { createdAt, updatedAt, edges } = await read(name);

      expect([createdAt, updatedAt]).toEqual([expect.any(String), expect.any(String)]);
      expect(edges.account).toMatchObject({
        name: 'Northwind Trading',
        status: 'enabled',
        type: 'CACC',
        alias: expect.any(String),
        code: expect.any(String),
        edges: {
          balances: [{ id: expect.any(Number), amount: expect.any(Number) }],
          currency: { symbol: expect.any(String), decimals: 2 },
          product: { description: expect.any(String), edges: { currency: { id: edges.account?.edges.currency.id } } },
        },
      });
      expect(edges.balance?.amount).toBeGreaterThan(0);
      expect(edges.transaction).toMatchObject({ hash: expect.any(String), createdAt: expect.any(String) });
    });

    it.each(Object.entries(DEMO))(
      'shows in the transaction of "%s" the visible transfers, without nesting it again',
      async (name, { visible }) => {
        const transfer = await read(name);
        const siblings = transfer.edges.transaction?.edges.transfers ?? [];

        expect(siblings).toHaveLength(visible);
        expect(siblings.map(({ id }) => id)).toContain(transfer.id);
        expect(siblings.filter(({ edges }) => 'transaction' in edges)).toEqual([]);
        expect(siblings.filter(({ edges }) => edges.account?.name !== 'Northwind Trading')).toEqual([]);
      },
    );

    it.each(PAID_OUT)('shows the complete recipient of "%s", and its fee as a separate transfer', async (name) => {
      const { feeAmount, purpose, edges } = await read(name);
      const fees = edges.transaction?.edges.transfers?.filter(({ type }) => type === 'fee');

      expect(purpose).toBe(name === 'spot' ? 'IR002' : 'IR001');
      expect(fees).toMatchObject([{ direction: 'debit', amount: feeAmount }]);
      expect(edges.recipient).toMatchObject({
        alias: expect.any(String),
        edges: {
          bank: {
            countryCode: expect.stringMatching(/^[A-Z]{2}$/),
            swiftCode: expect.stringMatching(/^[A-Z0-9]{8,11}$/),
          },
          beneficiary: { data: { beneficiaryName: expect.any(String), destinationCountry: expect.any(String) } },
          currency: { code: expect.any(String) },
        },
      });
    });

    it('ends the tracking of an arrived payment with ACCC, ordered by time', async () => {
      const events = eventsOf(await read('international'));

      expect(events.length).toBeGreaterThanOrEqual(3);
      expect(events.map(({ status }) => status)).toEqual(['ACSP', 'ACSP', 'ACSP', 'ACCC']);
      const times = events.map(({ createdAt }) => createdAt ?? '');
      expect([...times].sort()).toEqual(times);
    });

    it('shows no final status for a pending payment', async () => {
      expect(eventsOf(await read('pending')).map(({ status }) => status)).toEqual(['ACSP']);
    });

    it('ends the tracking of a rejected payment with RJCT and its reason code', async () => {
      const last = eventsOf(await read('returned')).at(-1);

      expect(last).toMatchObject({ status: 'RJCT', reasonCode: 'AC04' });
    });

    it('shows the recipient currency of a converted international payment', async () => {
      const { edges } = await read('spot');

      expect(edges.recipient?.edges.currency?.code).toBe('INR');
      expect(edges.account?.edges.currency.code).toBe('USD');
      expect(edges.transaction?.edges.internationalRemittance).toBeDefined();
    });

    it('shows no remittance for a transfer inside the service', async () => {
      const [funding, internal] = [await read('funding'), await read('internal')];

      expect(funding.edges.transaction?.edges).not.toHaveProperty('internationalRemittance');
      expect(internal.edges.transaction?.edges).not.toHaveProperty('internationalRemittance');
      expect(funding.edges).not.toHaveProperty('recipient');
    });

    it('never shows a transfer of an internal account of the bank', async () => {
      const known = Object.values(service.world.transfers);
      const [first, last] = [Math.max(1, Math.min(...known) - 20), Math.max(...known) + 20];
      const statuses = new Map<number, number>();
      for (let id = first; id <= last; id += 1) {
        const response = await sendRequest(service, `/transfers/${id}`, { as: ADA, workspace: workspaceId() });
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
        if (response.status !== 200) continue;
        const { edges } = response.body as Transfer;
        expect(edges.account?.name).toBe('Northwind Trading');
        expect(edges.account?.code).toMatch(/^NW\d{10}$/);
      }

      expect([...statuses.keys()].sort()).toEqual([200, 404]);
      expect(statuses.get(200)).toBeGreaterThanOrEqual(known.length);
    });
  });
}

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
