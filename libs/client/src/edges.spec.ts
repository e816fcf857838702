import { join } from 'node:path';
import type { AccountId, OrderId, TransactionId, TransferId, WorkspaceId } from '@banking/domain';
import * as ts from 'typescript';
import { RemoteBankingService } from './index.js';
import { responds, type ScriptedService, scriptedService } from './testing/scripted-service.js';

const SCOPE = { workspaceId: 7 as WorkspaceId };
const ACCOUNT_ID = { accountId: 1 as AccountId };

/** A record without `edges`, and the same with the type of a complete record. */
type Pair = readonly [sent: object, read: object];

const pair = (more: object): Pair => [
  { id: 1, ...more },
  { id: 1, ...more, edges: {} },
];
/** A record with related records. */
const holding = (edges: Readonly<Record<string, Pair | readonly Pair[]>>): Pair => {
  const side = (at: 0 | 1) =>
    Object.entries(edges).map(([name, inner]) => [name, isOne(inner) ? inner[at] : inner.map((one) => one[at])]);
  return [
    { id: 1, edges: Object.fromEntries(side(0)) as object },
    { id: 1, edges: Object.fromEntries(side(1)) as object },
  ];
};
const isOne = (inner: Pair | readonly Pair[]): inner is Pair => !Array.isArray(inner[0]);

/** The form of a related record of this name in a response. */
const RELATED: Readonly<Record<string, Pair | readonly Pair[]>> = {
  account: pair({ name: 'A' }),
  product: pair({ name: 'P' }),
  recipient: pair({ name: 'R' }),
  transaction: pair({ status: 'completed' }),
  internationalRemittance: pair({}),
  roles: [pair({ role: 'admin' })],
  executions: [pair({ sequence: 1 }), pair({ sequence: 2 })],
  transfers: [pair({ amount: '1' }), holding({ account: holding({ product: pair({}) }), recipient: pair({}) })],
};

let service: ScriptedService;
let client: RemoteBankingService;
beforeAll(async () => {
  service = await scriptedService();
  client = new RemoteBankingService({ baseUrl: service.url, token: 'token', retries: 0 });
});
afterAll(() => service.close());

const transferOf = (sent: unknown) => {
  service.script(responds(200, sent));
  return client.getTransfer(SCOPE, { transferId: 1 as TransferId });
};

describe('response without `edges`', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['a transfer', () => client.getTransfer(SCOPE, { transferId: 1 as TransferId })],
    ['a transaction', () => client.getTransaction(SCOPE, { transactionId: 1 as TransactionId })],
    ['an account', () => client.getAccount(SCOPE, ACCOUNT_ID)],
    ['an order', () => client.getOrder(SCOPE, { ...ACCOUNT_ID, orderId: 1 as OrderId })],
    ['an order without its account', () => client.getOrderById(SCOPE, { orderId: 1 as OrderId })],
    ['an order that is cancelled', () => client.cancelOrder(SCOPE, { ...ACCOUNT_ID, orderId: 1 as OrderId })],
    ['a statement', () => client.getStatement(SCOPE, { ...ACCOUNT_ID, from: '2026-01-01', to: '2026-02-01' })],
    ['what was made', async () => (await client.openAccount(SCOPE, {} as never)).resource],
  ])('adds it to %s', async (_, ask) => {
    service.script(responds(200, { id: 1 }));

    expect(await ask()).toEqual({ id: 1, edges: {} });
  });

  it.each<[string, () => Promise<unknown>]>([
    ['products', () => client.listProducts({})],
    ['corridors', () => client.listCorridors({}, { country: 'DE' })],
    ['users', () => client.listAppUsers({}, { appId: 1 as never })],
    ['accounts', async () => (await client.listAccounts(SCOPE)).items],
    ['orders', async () => (await client.listOrders(SCOPE)).items],
    ['recipients', async () => (await client.listRecipients(SCOPE)).items],
    ['transfers', async () => (await client.listTransfers(SCOPE)).items],
  ])('adds it to each of a list of %s', async (_, list) => {
    service.script(responds(200, [{ id: 1 }, { id: 2, edges: null }]));

    expect(await list()).toEqual([
      { id: 1, edges: {} },
      { id: 2, edges: {} },
    ]);
  });

  it.each(Object.entries(RELATED))('adds it to the related record %s', async (name, related) => {
    const [sent, read] = holding({ [name]: related });

    expect(await transferOf(sent)).toEqual(read);
  });

  it('adds it at every level', async () => {
    const [sent, read] = holding({
      account: holding(RELATED),
      transaction: holding({ transfers: [holding(RELATED)] }),
    });

    expect(await transferOf(sent)).toEqual(read);
  });

  it.each<[string, unknown, () => Promise<unknown>]>([
    ['apps', [{ id: 1, name: 'A' }], () => client.listApps({})],
    ['purposes', { IR001: 'Own account' }, () => client.listPurposes({})],
    ['schemas', [{ $id: 'x' }], () => client.listRecipientSchemas({}, {} as never)],
    ['a clock', { now: 'x' }, () => client.moveClock(SCOPE, {} as never)],
    ['audit events', [{ id: 1 }], async () => (await client.listAuditEvents(SCOPE)).items],
  ])('adds nothing to %s, which have none', async (_, sent, ask) => {
    service.script(responds(200, sent));

    expect(await ask()).toEqual(sent);
  });

  it.each([
    { id: 1, edges: { balance: { id: 1, amount: 5 }, lender: { id: 9 }, account: null, transaction: 'x' } },
    { id: 1, edges: [] },
    { id: 1, edges: 'none' },
    { id: 1, edges: { transaction: [null, 1, []] } },
  ])('does not change %j', async (sent) => {
    expect(JSON.stringify(await transferOf(sent))).toBe(JSON.stringify(sent));
  });

  it.each([200, 201])('accepts a placed order with status %i', async (status) => {
    service.script(responds(status, {}));
    const { resource, isReplay } = await client.placeOrder(SCOPE, { ...ACCOUNT_ID } as never);

    expect({ resource, isReplay }).toEqual({ resource: { edges: {} }, isReplay: false });
  });

  it.each([
    [{}, true],
    [{ id: 2 }, false],
    [{ id: '1' }, false],
  ])('accepts the order %j for the id 1: %p', async (sent, isTaken) => {
    service.script(responds(200, sent));
    const reading = client.getOrder(SCOPE, { ...ACCOUNT_ID, orderId: 1 as OrderId });

    if (isTaken) expect(await reading).toEqual({ edges: {} });
    else await expect(reading).rejects.toThrow('it is of another id');
  });

  it('accepts a body of 100,000 levels', async () => {
    const depth = 100_000;
    const text = `${'{"id":1,"edges":{"transaction":'.repeat(depth)}{}${'}}'.repeat(depth)}`;
    service.script((response) => response.writeHead(200, { 'Content-Type': 'application/json' }).end(text));
    let read: unknown = await client.getTransfer(SCOPE, { transferId: 1 as TransferId }).catch(() => undefined);
    // JSON.parse itself may refuse such a depth.
    for (let level = 0; level < depth && read !== undefined; level += 1) {
      read = (read as { edges: { transaction?: unknown } }).edges.transaction;
    }
    if (read !== undefined) expect(read).toEqual({ edges: {} });
  });
});

describe('addMissingEdges', () => {
  it('adds it to every related record whose type has it, and to no other', () => {
    expect([...edgesWithEdges()].sort()).toEqual(Object.keys(RELATED).sort());
  });
});

/** Names within the `edges` of a resource whose records have `edges`. */
function edgesWithEdges(): Set<string> {
  const index = join(__dirname, '../../domain/src/index.ts');
  const options = {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    types: [],
  };
  const program = ts.createProgram([index], options);
  const checker = program.getTypeChecker();
  const names = new Set<string>();
  for (const file of program.getSourceFiles().filter(({ fileName }) => fileName.includes('/domain/src/resources/'))) {
    for (const statement of file.statements) {
      if (!ts.isInterfaceDeclaration(statement) && !ts.isTypeAliasDeclaration(statement)) continue;
      const edges = checker.getTypeAtLocation(statement.name).getProperty('edges');
      for (const property of edges ? checker.getTypeOfSymbol(edges).getProperties() : []) {
        const type = checker.getNonNullableType(checker.getTypeOfSymbol(property));
        const record = checker.isArrayType(type) ? checker.getTypeArguments(type as ts.TypeReference)[0] : type;
        if (record?.getProperty('edges')) names.add(property.name);
      }
    }
  }
  return names;
}
