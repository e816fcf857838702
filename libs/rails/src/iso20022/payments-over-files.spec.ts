import { rmSync } from 'node:fs';
import {
  type AccountId,
  type PlaceOrderInput,
  type RecipientId,
  type TransferAmount,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { LedgerBankingService, startBankingWorker } from '@banking/operations';
import { demoDatabase, recipientLike, verifyPayments } from '@banking/operations/testing';
import { until } from '@banking/postgres/testing';
import { DEMO_RATES } from '@banking/reference';
import { Rails } from '../rails.js';
import { fileRailConfig, filesIn } from '../testing/file-rails.js';
import { paymentsOfFile } from './sent-files.js';

const account = { currency: 'INR', id: '00420042', isIban: false, bic: 'HDFCINBB', holder: 'Harbour Ltd' };
const config = fileRailConfig({ closeAfterSeconds: 0 }, { accounts: [account], serves: [{ countries: ['IN'] }] });
const rails = new Rails([config]);

let world: Awaited<ReturnType<typeof demoDatabase>>;
let service: LedgerBankingService;
let ada: { readonly workspaceId: WorkspaceId; readonly actor: UserId };
let accountId: AccountId;
let worker: ReturnType<typeof startBankingWorker> | undefined;
const errors: unknown[] = [];

beforeAll(async () => {
  world = await demoDatabase();
  service = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES, rails });
  ada = {
    workspaceId: world.demo.workspaces['Northwind Trading'] as WorkspaceId,
    actor: world.demo.users['ada@northwind.example'] as UserId,
  };
  const { rows } = await world.owner.query<{ id: bigint }>(
    `select p.id from product p join currency c on c.id = p.currency_id where c.code = 'EUR' limit 1`,
  );
  const { resource } = await service.openAccount(ada, { productID: Number(rows[0]!.id) as never });
  accountId = resource.id;
  await service.fundAccount(ada, { accountId, amount: '10000000' as TransferAmount });
  worker = startBankingWorker(world, {
    orders: service.orders,
    rails: (database) => rails.open(database),
    onError: (error) => errors.push(error),
  });
});
afterAll(async () => {
  await worker?.stop();
  const findings = await verifyPayments(world.database, Object.values(world.demo.workspaces));
  expect(findings.map(({ detail }) => detail)).toEqual([]);
  rmSync(config.folder, { recursive: true });
  await world.close();
});

const payeeWith = (changed: Readonly<Record<string, string>>) =>
  recipientLike(service, ada, world.demo.recipients['international'] as RecipientId, changed);

/** Places an order to a recipient of this name. Returns its transaction. */
async function placeTo(name: string): Promise<number> {
  const input: PlaceOrderInput = {
    accountId,
    recipientID: await payeeWith({ beneficiaryName: name }),
    ...{ amount: '250000' as TransferAmount, type: 'instant', purposeCode: 'IR001' },
  };
  const { resource } = await service.placeOrder(ada, input);
  return resource.edges.executions![0]!.edges.transaction!.id;
}

interface State {
  readonly status: string;
  readonly payout: string;
  readonly key: string;
  readonly amount: bigint;
}

const stateBy = (id: number, isReached: (state: State) => boolean) =>
  until(async () => {
    const { rows } = await world.owner.query<State>(
      `select x.status, p.status as payout, concat_ws('-', 'payout', p.workspace_id, p.transaction_id, p.key_nonce) as key,
              x.target_amount as amount
       from transaction x join payout p on p.transaction_id = x.id where x.id = $1`,
      [id],
    );
    return rows[0]!;
  }, isReached);

describe('a payment over files', () => {
  it('is with its network once it is accepted, and leaves in a file that its worker writes', async () => {
    const { key, amount, status } = await stateBy(await placeTo('Ravi Menon'), ({ payout }) => payout === 'submitted');
    const files = await until(
      () => [...filesIn(config, 'out').values()],
      (list) => list.length > 0,
    );

    expect(status).toBe('pending');
    expect(files.flatMap((text) => paymentsOfFile(text) ?? [])).toMatchObject([
      { endToEndId: key, amount, currency: 'INR' },
    ]);
    expect(errors).toEqual([]);
  });

  it('is refused before any debit if no file can carry it', async () => {
    const read = () => service.getAccount(ada, { accountId });
    const before = await read();

    await expect(placeTo('रवि मेनन')).rejects.toMatchObject({
      reason: 'recipient_invalid',
      message: 'The name of the recipient cannot be written in Latin letters. Write it so.',
    });

    expect(await read()).toEqual(before);
    expect(filesIn(config, 'out').size).toBe(1);
    expect(errors).toEqual([]);
  });
});
