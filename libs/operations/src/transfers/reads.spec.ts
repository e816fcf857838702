import type { AppId, Transfer, TransferId, UserId, WorkspaceId } from '@banking/domain';
import { sql, reasonOf } from '@banking/postgres/testing';
import { expectWellFormed } from '../testing/order-world.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
let { world, service, ada } = {} as OrderWorld;

beforeAll(async () => {
  ({ world, service, ada } = await orderWorld());
});
afterAll(() => world.close());
afterEach(() => jest.restoreAllMocks());

const transfer = (name: string): Promise<Transfer> =>
  service.getTransfer(ada, { transferId: world.demo.transfers[name] as TransferId });
const appId = () => world.demo.apps['Northwind Treasury'] as AppId;

describe('the reads', () => {
  it.each<[string, () => Promise<unknown>, roundTrips?: number]>([
    ['apps', () => service.listApps(ada)],
    // The roles of the caller, the ids of the users that they may see, then these users in parts.
    ['users of an app', () => service.listAppUsers(ada, { appId: appId() }), 3],
    ['products', () => service.listProducts()],
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
    const products = await service.listProducts();

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
      `select t.id from transfer t join account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id) where kind <> 'customer'`,
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
