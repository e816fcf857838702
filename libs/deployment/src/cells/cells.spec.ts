import type { WorkspaceId } from '@banking/domain';
import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { administer, sql, until } from '@banking/postgres/testing';
import { type CellServer, cellServer } from '../testing/cell-server.js';
import { addWorkspaces, type CellProcess, MIA, payerOf, startProcess } from '../testing/cell-world.js';
import { type Deployment, openDeployment } from '../open-deployment.js';
import { COPIES_VALID_MS } from './cells-directory.js';

let server: CellServer;
let process: CellProcess;
let ids: Map<string, WorkspaceId>;
let nowMs: number;
const payers = new Map<string, Awaited<ReturnType<typeof payerOf>>>();
const WORKSPACES = ['home', 'home two', 'b', 'c'];

beforeAll(async () => {
  server = await cellServer(['b', 'c']);
  for (const name of ['b', 'c']) await server.add(name);
  nowMs = 0;
  process = await startProcess(server, () => nowMs);
  ids = await addWorkspaces(server, WORKSPACES);
  for (const [name, id] of ids) payers.set(name, await payerOf(process, id));
});
afterAll(async () => {
  await process?.close();
  await server?.close();
});

const accounts = (workspaceId: WorkspaceId) =>
  process.banking.listAccounts({ workspaceId }).then(({ items }) => items.map(({ id }) => id).sort());
const events = async (name: string) =>
  process.banking.listEvents({ workspaceId: ids.get(name)! }, { resourceType: 'transfer', limit: 500 });
const unavailable = { reason: 'unavailable', status: 503, retryAfterSeconds: 1 };
const setState = (cell: string, name: string, state: string) =>
  server.query(cell, `update cell_workspace set state = '${state}' where workspace_id = ${ids.get(name)}`);

/** Calls until it succeeds, because a database answers again some time after it was away. */
async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  const [outcome] = await until(
    // A call may also throw at once.
    () => Promise.allSettled([(async () => call())()]),
    ([{ status }]) => status === 'fulfilled',
  );
  return (outcome as PromiseFulfilledResult<T>).value;
}

describe('a workspace', () => {
  it.each(WORKSPACES)('is served by its own database: %s', async (name) => {
    const { from, to, pay, balance } = payers.get(name)!;

    expect(await accounts(ids.get(name)!)).toEqual([from.id, to.id].sort());
    const before = await balance();
    await pay();
    expect(await balance()).toBe(before - 100n);
    const [cell] = name.split(' ');
    for (const other of server.names) {
      const [row] = await server.query<{ count: number }>(
        other,
        `select count(*)::int from account where workspace_id = ${ids.get(name)}`,
      );
      expect([other, row!.count > 0]).toEqual([other, other === cell]);
    }
  });

  it('has codes of accounts that are unique over all databases', async () => {
    const codes = [...payers.values()].flatMap(({ from, to }) => [from.code, to.code]);
    const places = await server.query<{ code: string }>('home', 'select code from account_place');

    expect(new Set(codes).size).toBe(8);
    expect(places.map(({ code }) => code).sort()).toEqual(codes.sort());
  });

  it('adds an account of another database as a recipient, who is shown as one of another workspace', async () => {
    const workspaceId = ids.get('home')!;
    const add = (accountCode: string) => process.banking.addInternalRecipient({ workspaceId }, { accountCode });
    const fieldsOf = async (accountCode: string) => {
      const { resource } = await add(accountCode);
      expect(resource).toMatchObject({ name: accountCode, accountCode });
      return [Object.keys(resource), Object.keys(resource.edges)];
    };

    expect(await fieldsOf(payers.get('c')!.from.code!)).toEqual(await fieldsOf(payers.get('home two')!.to.code!));
    await expect(add('NOSUCHACCOUNT')).rejects.toMatchObject({ details: [{ reason: 'account_unknown' }] });
  });
});

describe('a database', () => {
  it('refuses a scope with a workspace that it does not serve', async () => {
    const { database } = process.cells.get(1);
    const inScope = (...names: string[]) =>
      database.read({ workspaces: names.map((name) => ids.get(name)!) }, sql('select 1'));

    await expect(inScope('b')).resolves.toBeDefined();
    for (const names of [['home'], ['c'], ['b', 'c']]) {
      await expect(inScope(...names)).rejects.toMatchObject({ code: RULE_VIOLATION.workspaceElsewhere });
    }
  });

  it('never answers for a workspace that has left it, also if a process remembers the former place', async () => {
    await setState('b', 'b', 'gone');
    await expect(payers.get('b')!.balance()).rejects.toMatchObject(unavailable);
    await server.query('home', `update workspace_place set cell_number = 2 where workspace_id = ${ids.get('b')}`);
    await server.query('c', `insert into cell_workspace (workspace_id) values (${ids.get('b')})`);

    expect(await accounts(ids.get('b')!)).toEqual([]);

    await server.query('c', `delete from cell_workspace where workspace_id = ${ids.get('b')}`);
    await server.query('home', `update workspace_place set cell_number = 1 where workspace_id = ${ids.get('b')}`);
    await setState('b', 'b', 'open');
    expect(await payers.get('b')!.balance()).toBeGreaterThan(0n);
  });

  it('refuses a command that changes something too, and shows what it still has to one that only reads', async () => {
    const open = (mayReadElsewhere: boolean) =>
      openDeployment({ ...server.settings, isService: false, prepare: false, mayReadElsewhere });
    await setState('home', 'home', 'gone');
    const [writing, reading] = [await open(false), await open(true)];
    const inScope = ({ database }: Deployment) => database.read({ workspaces: [ids.get('home')!] }, sql('select 1'));
    try {
      await expect(inScope(writing)).rejects.toMatchObject({ code: RULE_VIOLATION.workspaceElsewhere });
      await expect(inScope(reading)).resolves.toBeDefined();
    } finally {
      await setState('home', 'home', 'open');
      await writing.close();
      await reading.close();
    }
  });

  it('is not opened while it serves a workspace that home places in another cell', async () => {
    const place = (number: number) =>
      server.query('home', `update workspace_place set cell_number = ${number} where workspace_id = ${ids.get('b')}`);
    await place(2);
    const warnings: string[] = [];
    const late = await startProcess(server, undefined, (line) => warnings.push(line));
    try {
      await expect(late.banking.listAccounts({ workspaceId: ids.get('b')! })).rejects.toBeDefined();
      expect(warnings).toEqual([
        expect.stringMatching(
          `^The cell b cannot be opened: .+ in other cells: ${ids.get('b')}\\. It is not opened\\.`,
        ),
      ]);
      expect((await late.banking.listAccounts({ workspaceId: ids.get('c')! })).items).toHaveLength(2);

      await place(1);
      expect(
        (await untilAnswered(() => late.cells.get(1).banking.listAccounts({ workspaceId: ids.get('b')! }))).items,
      ).toHaveLength(2);
    } finally {
      await place(1);
      await late.close();
    }
  });

  it('refuses the orders of a moving workspace alone', async () => {
    await setState('home', 'home', 'moving');
    const moving = payers.get('home')!;
    const other = payers.get('home two')!;

    const results = await Promise.allSettled([other, moving, other, moving, other].map(({ pay }) => pay()));

    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toMatchObject(unavailable);
    await setState('home', 'home', 'open');
    await moving.pay();
  });

  it('lets a change of a state wait for the scopes that have seen the former one', async () => {
    const workspaceId = ids.get('home')!;
    const lock = () =>
      administer(server.connectionOf('home'), async (client) => {
        await client.query(`set search_path = banking; set lock_timeout = '100ms'`);
        await client.query('select pg_advisory_xact_lock(workspace_lock_key($1))', [workspaceId]);
      });

    await process.cells.home.database.transaction({ workspaces: [workspaceId] }, async (tx) => {
      await tx.pipeline([sql('select 1')]);
      await expect(lock()).rejects.toMatchObject({ code: SQLSTATE.lockNotAvailable });
    });
    await expect(lock()).resolves.toBeUndefined();
  });
});

describe('a cell that is away', () => {
  beforeAll(() => server.setAway('b', true));
  afterAll(() => server.setAway('b', false));

  it('makes its own workspaces unavailable, and no other', async () => {
    await expect(accounts(ids.get('b')!)).rejects.toMatchObject(unavailable);
    await expect(payers.get('b')!.pay()).rejects.toMatchObject(unavailable);
    for (const name of ['home', 'c']) {
      expect(await accounts(ids.get(name)!)).toHaveLength(2);
      await payers.get(name)!.pay();
      await server.query(name, 'select record_changes(10000)');
      expect((await events(name)).items.at(-1)).toMatchObject({ resource: { type: 'transfer' } });
    }
    await expect(events('b')).rejects.toMatchObject(unavailable);
    expect((await process.directory.userOf(MIA))?.grants).toHaveLength(WORKSPACES.length);
  });

  it('does not prevent the start of a process, which serves it when it is back', async () => {
    const late = await startProcess(server);
    try {
      const inLate = () => late.banking.listAccounts({ workspaceId: ids.get('b')! });
      await expect(inLate()).rejects.toMatchObject(unavailable);
      expect((await late.banking.listAccounts({ workspaceId: ids.get('c')! })).items).toHaveLength(2);

      await server.setAway('b', false);
      expect((await untilAnswered(inLate)).items).toHaveLength(2);
    } finally {
      await late.close();
    }
    expect(await untilAnswered(() => accounts(ids.get('b')!))).toHaveLength(2);
  });
});

describe('home that is away', () => {
  beforeAll(() => server.setAway('home', true));
  afterAll(() => server.setAway('home', false));

  it('leaves users and workspaces of other cells served from the copies, for the stated time', async () => {
    const lookUp = () => process.directory.userOf(MIA);
    expect((await lookUp())?.grants.map(({ workspaceId }) => workspaceId).sort()).toEqual([...ids.values()].sort());
    expect(await process.banking.listApps({ actor: (await lookUp())!.id })).toHaveLength(1);
    for (const name of ['b', 'c']) await payers.get(name)!.pay();
    await expect(accounts(ids.get('home')!)).rejects.toMatchObject(unavailable);

    nowMs += COPIES_VALID_MS - 1;
    // Answered from memory, it says nothing about the copies.
    expect(await process.banking.listPurposes({})).toBeDefined();
    nowMs += 1;
    await expect(lookUp()).rejects.toMatchObject(unavailable);
  });

  it('prevents what has to be unique over all cells', async () => {
    const [product] = await process.cells.get(1).banking.listProducts({});
    const open = process.banking.openAccount({ workspaceId: ids.get('b')! }, { productID: product!.id });

    await expect(open).rejects.toMatchObject(unavailable);
  });

  it('is used again when it is back', async () => {
    await server.setAway('home', false);
    nowMs += 10_000;

    expect(await untilAnswered(() => accounts(ids.get('home')!))).toHaveLength(2);
    expect((await untilAnswered(() => process.directory.userOf(MIA)))?.grants).toHaveLength(WORKSPACES.length);
  });
});
