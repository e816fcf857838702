import {
  type AccountId,
  type AppId,
  parseAmount,
  type RecipientId,
  type Scope,
  type Transaction,
  type TransactionId,
  type Transfer,
  type TransferId,
  type TransferQuery,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { post, postDeposits } from '@banking/ledger';
import { reasonOf, sql } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { expectWellFormed, orderWorld, type OrderWorld } from '../testing/order-world.js';

let { world, service, ada, eve } = {} as OrderWorld;

beforeAll(async () => {
  ({ world, service, ada, eve } = await orderWorld());
});

afterAll(() => world.close());

describe('the list of transfers', () => {
  const usd = () => world.demo.accounts['Northwind Trading USD'] as AccountId;
  const southwind = () => world.demo.accounts['Southwind Imports USD'] as AccountId;
  const ravi = () => world.demo.recipients['international'] as RecipientId;

  async function walk(scope: Scope, query: TransferQuery, onPage: () => Promise<void> = async () => undefined) {
    const pages: Transfer[][] = [];
    let cursor: string | undefined;
    do {
      const page = await service.listTransfers(scope, { ...query, cursor });
      pages.push([...page.items]);
      cursor = page.next;
      await onPage();
    } while (cursor !== undefined);
    return pages;
  }

  /** A further transfer to an account, newer than all others. */
  async function addOne(): Promise<void> {
    const movement = { currencyId: 840, amount: parseAmount('1.00', 'USD'), type: 'funding' };
    await post(
      world.books,
      [
        {
          entries: [
            {
              workspaceId: ada.workspaceId as number,
              status: 'completed',
              legs: [
                { ...movement, account: usd(), direction: 'credit' },
                { ...movement, account: 'settlement', direction: 'debit' },
              ],
            },
          ],
        },
      ],
      postDeposits,
    );
  }

  it('has each transfer of the workspace’s customers, newest first', async () => {
    const { items, next } = await service.listTransfers(ada);

    expect(next).toBeUndefined();
    expectWellFormed(items);
    expect(items.length).toBeGreaterThan(8);
    for (const transfer of items) {
      expect(await service.getTransfer(ada, { transferId: transfer.id })).toEqual(transfer);
    }
    const order = items.map(({ createdAt, id }) => `${createdAt} ${String(id).padStart(16, '0')}`);
    expect(order).toEqual([...order].sort().reverse());
    const others = await service.listTransfers(eve);
    expect(others.items.length).toBeGreaterThan(0);
    expect(others.items.filter(({ id }) => items.some((mine) => mine.id === id))).toEqual([]);
  });

  it.each([1, 2, 3, 7, 500])('has no gap and no repetition in pages of %d while more arrive', async (limit) => {
    const before = (await walk(ada, {})).flat().map(({ id }) => id);
    const pages = await walk(ada, { limit }, addOne);

    expect(pages.flat().map(({ id }) => id)).toEqual(before);
    expect(pages.slice(0, -1).every(({ length }) => length === limit)).toBe(true);
  });

  it('needs one round trip per page', async () => {
    const { next } = await service.listTransfers(ada, { limit: 2, accountId: usd() });
    const pipeline = jest.spyOn(world.database, 'pipeline');

    await service.listTransfers(ada, { limit: 2, accountId: usd(), cursor: next });

    // The reference data is read again when it is a few seconds old, in no scope.
    expect(pipeline.mock.calls.filter(([{ workspaces }]) => workspaces !== undefined)).toHaveLength(1);
    pipeline.mockRestore();
  });

  it.each<[string, () => TransferQuery, (transfer: Transfer) => boolean]>([
    ['an account', () => ({ accountId: usd() }), ({ edges }) => edges.account?.id === usd()],
    ['a recipient', () => ({ recipientId: ravi() }), ({ edges }) => edges.recipient?.id === ravi()],
    ['a direction', () => ({ direction: 'credit' }), ({ direction }) => direction === 'credit'],
    ['a type', () => ({ type: 'payout' }), ({ type }) => type === 'payout'],
    ['a status', () => ({ transactionStatus: 'pending' }), ({ edges }) => edges.transaction?.status === 'pending'],
    [
      'two of them',
      () => ({ accountId: usd(), direction: 'debit' }),
      ({ direction, edges }) => direction === 'debit' && edges.account?.id === usd(),
    ],
  ])('is filtered by %s', async (_, query, holds) => {
    const all = (await walk(ada, {})).flat();
    const listed = (await walk(ada, { ...query(), limit: 2 })).flat();

    expect(listed).toEqual(all.filter(holds));
    expect(listed.length).toBeGreaterThan(0);
    expect(listed.length).toBeLessThan(all.length);
  });

  it('includes createdFrom and excludes createdTo, in each offset', async () => {
    const all = (await walk(ada, {})).flat();
    const from = all[5]!.createdAt!;
    const to = all[2]!.createdAt!;
    const listed = (await walk(ada, { createdFrom: from, createdTo: to.replace('Z', '+00:00') })).flat();

    expect(listed).toEqual(all.filter(({ createdAt }) => createdAt! >= from && createdAt! < to));
    expect(listed.map(({ id }) => id)).toContain(all[5]!.id);
    expect(listed.map(({ id }) => id)).not.toContain(all[2]!.id);
  });

  it.each<[string, () => TransferQuery, string]>([
    ['an account of another workspace', () => ({ accountId: southwind() }), 'account_not_found'],
    ['an account that is not there', () => ({ accountId: 999_999 as AccountId }), 'account_not_found'],
    ['a recipient that is not there', () => ({ recipientId: 999_999 as RecipientId }), 'recipient_not_found'],
    ['a limit of none', () => ({ limit: 0 }), 'limit_invalid'],
    ['a limit over the largest', () => ({ limit: 501 }), 'limit_invalid'],
    ['half a limit', () => ({ limit: 1.5 }), 'limit_invalid'],
    ['an instant without an offset', () => ({ createdFrom: '2026-11-21T09:30:00' }), 'timestamp_invalid'],
    ['a day that does not exist', () => ({ createdTo: '2026-02-30T00:00:00Z' }), 'timestamp_invalid'],
    [
      'a period that ends before it begins',
      () => ({ createdFrom: '2026-11-21T10:00:00+01:00', createdTo: '2026-11-21T08:59:59Z' }),
      'timestamp_invalid',
    ],
    ['a cursor that is none', () => ({ cursor: 'AAAA' }), 'cursor_invalid'],
  ])('refuses %s', async (_, query, reason) => {
    expect(await reasonOf(service.listTransfers(ada, query()))).toBe(reason);
  });

  it('refuses a cursor of another workspace or filter', async () => {
    const { next: cursor } = await service.listTransfers(ada, { limit: 1 });

    expect(await reasonOf(service.listTransfers(eve, { limit: 1, cursor }))).toBe('cursor_invalid');
    expect(await reasonOf(service.listTransfers(ada, { limit: 1, cursor, type: 'payout' }))).toBe('cursor_invalid');
    expect((await service.listTransfers(ada, { limit: 3, cursor })).items).toHaveLength(3);
  });
});

describe('reads', () => {
  // Its reference data is not read yet.
  beforeAll(() => {
    service = new LedgerBankingService(world.database);
  });
  afterEach(() => jest.restoreAllMocks());

  const transfer = (name: string): Promise<Transfer> =>
    service.getTransfer(ada, { transferId: world.demo.transfers[name] as TransferId });

  const appId = () => world.demo.apps['Northwind Treasury'] as AppId;

  describe('the reads', () => {
    it.each<[string, () => Promise<unknown>, roundTrips?: number]>([
      ['apps', () => service.listApps(ada)],
      // The roles of the caller, the ids of the users that they may see, then these users in parts.
      ['users of an app', () => service.listAppUsers(ada, { appId: appId() }), 3],
      ['products', () => service.listProducts({})],
      ['corridors', () => service.listCorridors(ada, { country: 'IN' })],
      [
        'recipient schemas',
        () => service.listRecipientSchemas(ada, { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' }),
      ],
      ['one transfer', () => transfer('international')],
    ])('return well-formed %s in as few round trips as possible', async (_what, read, roundTrips = 1) => {
      const pipeline = jest.spyOn(world.database, 'pipeline');
      const answer = await read();

      expect(answer).toBeTruthy();
      expectWellFormed(answer);
      expect(pipeline).toHaveBeenCalledTimes(roundTrips);
    });
  });

  describe('the apps of a user', () => {
    it('are those that the user belongs to', async () => {
      expect(await service.listApps(ada)).toEqual([
        { id: appId(), name: 'Northwind Treasury', createdAt: expect.any(String) as string },
      ]);
    });

    it('are none for a user without an app', async () => {
      expect(await service.listApps({ actor: 999_999 as UserId })).toEqual([]);
    });
  });

  describe('the products', () => {
    it('have a currency', async () => {
      const products = await service.listProducts({});

      expect(products.find(({ edges }) => edges.currency.code === 'JPY')?.edges.currency).toMatchObject({
        id: 392,
        name: 'Yen',
        decimals: 0,
      });
    });
  });

  describe('the corridors', () => {
    it.each(['IN', 'in', 'IND', 'ind'])('lead to India for %s', async (country) => {
      const corridors = await service.listCorridors({}, { country });

      expect(corridors.length).toBeGreaterThan(0);
      for (const corridor of corridors) {
        expect(corridor.destinationCountry).toBe('IN');
        expect(corridor.edges.destinationCurrency?.id).toBe(corridor.destinationCurrencyID);
        expect(corridor.edges.limitCurrency?.id).toBe(corridor.limitCurrencyID);
      }
    });

    it('are empty for a country without corridors', async () => {
      expect(await service.listCorridors({}, { country: 'AQ' })).toEqual([]);
    });

    it('are refused for an unknown country', async () => {
      expect(await reasonOf(service.listCorridors({}, { country: 'XX' }))).toBe('country_unknown');
    });
  });

  describe('a pending payout', () => {
    it('has account, balance, recipient, tracking and fee', async () => {
      const read = await transfer('international');

      expect(read).toMatchObject({
        id: world.demo.transfers['international'],
        amount: '1875000',
        direction: 'debit',
        type: 'payout',
        purpose: 'IR001',
        feeAmount: '1250',
        description: 'Float for Berlin',
        edges: {
          account: {
            id: world.demo.accounts['Northwind Trading EUR'],
            status: 'enabled',
            type: 'CACC',
            alias: 'European suppliers',
            edges: { currency: { code: 'EUR', decimals: 2 }, product: { edges: { currency: { code: 'EUR' } } } },
          },
          balance: { id: world.demo.transfers['international'], amount: 46_125_000 },
          recipient: {
            name: 'Northwind Trading Berlin',
            accountCode: 'DE89370400440532013000',
            edges: {
              bank: { swiftCode: 'DEUTDEFF', countryCode: 'DE' },
              beneficiary: { data: { destinationCountry: 'DE' } },
              currency: { code: 'EUR' },
            },
          },
          transaction: { status: 'completed', hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
        },
      });
    });

    it('has a transaction with the customer’s transfers only', async () => {
      const { transaction } = (await transfer('international')).edges;

      expect(transaction?.edges.transfers?.map(({ type, amount }) => [type, amount])).toEqual([
        ['payout', '1875000'],
        ['fee', '1250'],
      ]);
      for (const { edges } of transaction!.edges.transfers!) expect(edges).not.toHaveProperty('transaction');
    });

    it('has its events in the order of arrival', async () => {
      const { internationalRemittance } = (await transfer('international')).edges.transaction!.edges;
      const events = internationalRemittance?.edges.events ?? [];
      expect(events.map(({ status, reasonCode }) => [status, reasonCode])).toEqual([
        ['ACSP', 'G000'],
        ['ACSP', 'G001'],
        ['ACSP', 'G003'],
        ['ACCC', undefined],
      ]);
      expect(internationalRemittance!.updatedAt).toBe(events.at(-1)?.lastUpdatedAt);
    });
  });

  describe('the other transfers of the demo data', () => {
    it.each([
      ['funding', 'funding', 'completed'],
      ['internal', 'internal', 'completed'],
      ['pending', 'payout', 'pending'],
      ['returned', 'payout', 'failed'],
      ['spot', 'spot', 'completed'],
    ])('include %s of type %s, which is %s', async (name, type, status) => {
      expect(await transfer(name)).toMatchObject({ type, edges: { transaction: { status } } });
    });

    it('omit missing fields', async () => {
      const { edges } = await transfer('funding');

      expect(edges).not.toHaveProperty('recipient');
      expect(edges.transaction?.edges).not.toHaveProperty('internationalRemittance');
    });
  });

  describe('a transfer outside of the workspace', () => {
    it('is not found in another workspace', async () => {
      const transferId = world.demo.transfers['internal'] as TransferId;
      const workspaceId = world.demo.workspaces['Southwind Imports'] as WorkspaceId;

      expect(await reasonOf(service.getTransfer({ ...ada, workspaceId }, { transferId }))).toBe('transfer_not_found');
    });

    it('is not found on an own account', async () => {
      const { rows } = await world.owner.query<{ id: bigint }>(
        `select t.id from leg t join account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id) where kind <> 'customer'`,
      );

      expect(rows.length).toBeGreaterThan(10);
      for (const { id } of rows) {
        expect(await reasonOf(service.getTransfer(ada, { transferId: Number(id) as TransferId }))).toBe(
          'transfer_not_found',
        );
      }
    });

    it('throws an error without a workspace', async () => {
      expect(await reasonOf((async () => service.getTransfer({}, { transferId: 1 as TransferId }))())).toMatch(
        'the scope lacks',
      );
    });
  });

  describe('a past transfer', () => {
    it('has its recipient after the deletion of the recipient', async () => {
      const remove = sql('update recipient set forgotten_at = now() where workspace_id = $1', ada.workspaceId);
      await world.database.pipeline({ workspaces: [ada.workspaceId!] }, [remove]);

      expect((await transfer('international')).edges.recipient?.name).toBe('Northwind Trading Berlin');
    });
  });
});

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
