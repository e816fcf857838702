import type { AppId, BankingService, Scope, Transfer, TransferId, UserId, WorkspaceId } from '@banking/domain';
import { LedgerBankingService } from './ledger-banking-service.js';
import { expectWellFormed } from './testing/resources.js';
import { demoWorld, sql, wordOf } from './testing/worlds.js';

let world: Awaited<ReturnType<typeof demoWorld>>;
let service: BankingService;
/** Ada, in Northwind’s workspace. */
let ada: Scope;

beforeAll(async () => {
  world = await demoWorld();
  service = new LedgerBankingService(world.database);
  ada = {
    actor: world.demo.users['ada@northwind.example'] as UserId,
    workspaceId: world.demo.workspaces['Northwind Trading'] as WorkspaceId,
  };
});
afterAll(() => world.close());
afterEach(() => jest.restoreAllMocks());

const transfer = (name: string): Promise<Transfer> =>
  service.getTransfer(ada, { transferId: world.demo.transfers[name] as TransferId });
const appId = () => world.demo.apps['Northwind Treasury'] as AppId;

describe('Given the five reads', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['apps', () => service.listApps(ada)],
    ['users of an app', () => service.listAppUsers(ada, { appId: appId() })],
    ['products', () => service.listProducts(ada)],
    ['corridors', () => service.listCorridors(ada, { country: 'IN' })],
    ['recipient schemas', () => service.listRecipientSchemas(ada, { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' })], // prettier-ignore
    ['one transfer', () => transfer('international')],
  ])('When they answer with %s, Then it is well formed and one round trip', async (_what, read) => {
    const flight = jest.spyOn(world.database, 'flight');

    const answer = await read();

    expect(answer).toBeTruthy();
    expectWellFormed(answer);
    expect(flight).toHaveBeenCalledTimes(1);
  });
});

describe('Given the apps', () => {
  it('When a user asks, Then they see those they belong to', async () => {
    expect(await service.listApps(ada)).toEqual([
      { id: appId(), name: 'Northwind Treasury', createdAt: expect.any(String) as string },
    ]);
  });

  it('When somebody without an app asks, Then there are none', async () => {
    expect(await service.listApps({ actor: 999_999 as UserId })).toEqual([]);
  });
});

describe('Given the products', () => {
  it('When they are listed, Then each has its currency', async () => {
    const products = await service.listProducts({});

    expect(products.find(({ edges }) => edges.currency.code === 'JPY')?.edges.currency).toMatchObject({
      id: 392,
      name: 'Yen',
      decimals: 0,
    });
  });
});

describe('Given the corridors', () => {
  it.each(['IN', 'in', 'IND', 'ind'])('When %s is asked for, Then they lead to India', async (country) => {
    const corridors = await service.listCorridors({}, { country });

    expect(corridors.length).toBeGreaterThan(0);
    for (const corridor of corridors) {
      expect(corridor.destinationCountry).toBe('IN');
      expect(corridor.edges.destinationCurrency?.id).toBe(corridor.destinationCurrencyID);
      expect(corridor.edges.limitCurrency?.id).toBe(corridor.limitCurrencyID);
    }
  });

  it('When nothing leads to a country, Then the list is empty', async () => {
    expect(await service.listCorridors({}, { country: 'AQ' })).toEqual([]);
  });

  it('When there is no such country, Then it is unknown', async () => {
    expect(await wordOf(service.listCorridors({}, { country: 'XX' }))).toBe('country_unknown');
  });
});

describe('Given a payout on its way abroad', () => {
  it('When its transfer is read, Then it shows account, balance, recipient, tracking and fee', async () => {
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

  it('When its transaction is read, Then it holds what the customer can see and no way back', async () => {
    const { transaction } = (await transfer('international')).edges;

    expect(transaction?.edges.transfers?.map(({ type, amount }) => [type, amount])).toEqual([
      ['payout', '1875000'],
      ['fee', '1250'],
    ]);
    for (const { edges } of transaction!.edges.transfers!) expect(edges).not.toHaveProperty('transaction');
  });

  it('When its events are read, Then they stand in the order they came', async () => {
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

describe('Given the other transfers of the demo world', () => {
  it.each([
    ['funding', 'funding', 'completed'],
    ['internal', 'internal', 'completed'],
    ['pending', 'payout', 'pending'],
    ['returned', 'payout', 'failed'],
    ['spot', 'spot', 'completed'],
  ])('When the one named %s is read, Then it is of type %s and %s', async (name, type, status) => {
    expect(await transfer(name)).toMatchObject({ type, edges: { transaction: { status } } });
  });

  it('When one has no recipient and no tracking, Then the fields are left out', async () => {
    const { edges } = await transfer('funding');

    expect(edges).not.toHaveProperty('recipient');
    expect(edges.transaction?.edges).not.toHaveProperty('internationalRemittance');
  });
});

describe('Given transfers that are not the workspace’s to see', () => {
  it('When another workspace asks, Then there is no such transfer', async () => {
    const transferId = world.demo.transfers['internal'] as TransferId;
    const workspaceId = world.demo.workspaces['Southwind Imports'] as WorkspaceId;

    expect(await wordOf(service.getTransfer({ ...ada, workspaceId }, { transferId }))).toBe('transfer_not_found');
  });

  it('When it lies on an account of our own, Then there is no such transfer', async () => {
    const { rows } = await world.owner.query<{ id: bigint }>(
      `select t.id from transfer t join account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id) where kind <> 'customer'`,
    );

    expect(rows.length).toBeGreaterThan(10);
    for (const { id } of rows) {
      expect(await wordOf(service.getTransfer(ada, { transferId: Number(id) as TransferId }))).toBe(
        'transfer_not_found',
      );
    }
  });

  it('When nobody says for which workspace, Then it is a bug of the caller', async () => {
    expect(await wordOf((async () => service.getTransfer({}, { transferId: 1 as TransferId }))())).toMatch(
      'the scope lacks',
    );
  });
});

describe('Given a recipient that has been forgotten', () => {
  it('When a past transfer is read, Then it keeps its recipient', async () => {
    const forget = sql('update recipient set forgotten_at = now() where workspace_id = $1', ada.workspaceId);
    await world.database.flight({ workspaces: [ada.workspaceId!] }, [forget]);

    expect((await transfer('international')).edges.recipient?.name).toBe('Northwind Trading Berlin');
  });
});
