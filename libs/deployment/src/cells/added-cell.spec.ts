import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TransferAmount, WorkspaceId } from '@banking/domain';
import { readPayoutStop } from '@banking/payouts';
import { administer, until } from '@banking/postgres/testing';
import { readDeployment, readerOf } from '@banking/process';
import { type CellServer, cellServer } from '../testing/cell-server.js';
import { addWorkspaces, type CellProcess, payerOf, startProcess } from '../testing/cell-world.js';
import { VerificationOverCells } from './verify-over-cells.js';

/** A process with a CELLS_FILE of its own, and what it has reported. */
interface ProcessWithFile {
  readonly process: CellProcess;
  readonly warnings: readonly string[];
  /** How often it has read its file again. */
  reads(): number;
  write(content: unknown): Promise<void>;
}

let folder: string;
let server: CellServer;
let running: ProcessWithFile;
/** Its file does not name the cell that is added. */
let behind: ProcessWithFile;
let ids: Map<string, WorkspaceId>;
const workers: { stop(): Promise<void> }[] = [];

async function start(name: string, cells: readonly string[] = ['b']): Promise<ProcessWithFile> {
  const file = join(folder, name);
  const write = (content: unknown) =>
    writeFile(file, typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o600 });
  await write(Object.fromEntries(cells.map((cell) => [cell, entry(cell)])));
  const environment = { DATABASE_URL: server.settings.databaseUrl, SANDBOX: 'on', CELLS_FILE: file };
  const { cells: named = [], rereadCells } = readDeployment(readerOf(environment));
  const warnings: string[] = [];
  let reads = 0;
  const counted = () => {
    reads += 1;
    return rereadCells!();
  };
  const withFile = { ...server, settings: { ...server.settings, cells: named, rereadCells: counted } };
  const process = await startProcess(withFile, undefined, (line) => warnings.push(line));
  return { process, warnings, reads: () => reads, write };
}
const entry = (cell: string) => ({ url: server.settings.cells.find(({ name }) => name === cell)!.databaseUrl });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'banking-added-cell-'));
  server = await cellServer(['b', 'c'], ['c']);
  await server.add('b');
  ids = await addWorkspaces(server, ['home', 'b']);
  running = await start('running');
  behind = await start('behind');
});
afterAll(async () => {
  for (const worker of workers) await worker.stop();
  await running?.process.close();
  await behind?.process.close();
  await server?.close();
  await rm(folder, { recursive: true });
});

const UNAVAILABLE = { reason: 'unavailable', status: 503, retryAfterSeconds: 1 };
const scopeOf = (name: string) => ({ workspaceId: ids.get(name)! });
const accounts = ({ process }: ProcessWithFile, name: string) => process.banking.listAccounts(scopeOf(name));
const reported = ({ warnings }: ProcessWithFile, pattern: RegExp) =>
  until(
    () => Promise.resolve(warnings.filter((line) => pattern.test(line))),
    (found) => found.length > 0,
  );
const verificationOf = ({ process }: ProcessWithFile) =>
  new VerificationOverCells(() =>
    process.cells.all().map(({ number, name, use }) => ({ number, name, database: use?.database })),
  );
const plant = (cell: string, text: string) =>
  administer(server.connectionOf(cell), async (client) => {
    await client.query('set search_path = banking; set session_replication_role = replica');
    await client.query(text);
  });

describe('CELLS_FILE at the start of a process', () => {
  it('may name a database before it is a cell, so that a start does not fail meanwhile', async () => {
    const started = await start('started', ['b', 'c']);
    try {
      expect((await accounts(started, 'b')).items).toEqual([]);
      expect(started.warnings).toEqual(['CELLS_FILE names c, which is no cell yet. Run banking cell add c.']);
    } finally {
      await started.process.close();
    }
  });
});

describe('CELLS_FILE of a running process', () => {
  it('is reported without a value while it cannot be used, and the known cells are served', async () => {
    await running.write('{"c": {"url": "postgres://banking:secret@');
    await reported(running, /^CELLS_FILE is not a JSON object/);
    await running.write({ b: entry('b'), c: { url: 'mysql://secret' } });
    await reported(running, /^CELLS_FILE \(c, url\) is not a URL/);
    await rm(join(folder, 'running'));
    await reported(running, /^CELLS_FILE cannot be read \(ENOENT\)/);

    expect((await accounts(running, 'b')).items).toEqual([]);
    expect(running.warnings.join()).not.toContain('secret');
  });

  it('changes nothing by another address of an open cell, or none', async () => {
    await running.write({ b: entry('c') });
    await reported(running, /^CELLS_FILE has another url of the cell b, or none/);

    await payerOf(running.process, ids.get('b')!);
    expect(await server.query('c', `select from pg_namespace where nspname = 'banking'`)).toEqual([]);
  });

  it('may name a database before it is a cell', async () => {
    await running.write({ b: entry('b'), c: entry('b') });

    expect(await reported(running, /^CELLS_FILE names c/)).toEqual([
      'CELLS_FILE names c, which is no cell yet. Run banking cell add c.',
    ]);
  });

  it('has each fault reported once', async () => {
    const before = running.reads();
    await until(() => running.reads() > before + 1);

    expect(new Set(running.warnings).size).toBe(running.warnings.length);
  });
});

describe('a cell that is added while processes run', () => {
  beforeAll(async () => {
    await server.setAway('c', true);
    await server.add('c');
    const added = await addWorkspaces(server, ['c', 'c two'], false);
    for (const [name, id] of added) ids.set(name, id);
  });

  it('is not opened at the address of another, and is at the one that corrects it', async () => {
    await reported(running, /^The cell c cannot be opened: .* configured as the cell "c" and is the cell "b"/);

    await running.write({ b: entry('b'), c: entry('c') });
    await reported(running, /^The cell c is away/);
  });

  it('makes its own workspaces unavailable while it cannot be reached, and no other', async () => {
    await expect(accounts(running, 'c')).rejects.toMatchObject(UNAVAILABLE);
    await payerOf(running.process, ids.get('b')!);
  });

  it('is served, paid and worked for when it answers', async () => {
    await server.setAway('c', false);
    await until(async () => running.process.cells.all()[2]?.use !== undefined);

    const { pay, balance } = await payerOf(running.process, ids.get('c')!);
    await pay();
    expect(await balance()).toBe(9_900n);
    for (const { use } of running.process.cells.all()) workers.push(use!.startWork());
    await completed(await payFromB(await accountIn('c two')));
  });

  it('takes part in the verification over all cells', async () => {
    const verification = verificationOf(running);
    const stops = () =>
      Promise.all(
        running.process.cells.all().map(async ({ use }) => (await readPayoutStop(use!.database))?.workspaceIds),
      );
    // A turn ends within the sums, so the second pass begins after some turns.
    const turns = async () => {
      for (let turn = 0; turn < 20; turn += 1) await verification.verifyNext();
      return stops();
    };
    expect(await turns()).toEqual([undefined, undefined, undefined]);

    await plant('c', `update arrival set amount = amount + 1`);

    expect(await turns()).toEqual([[], [], [ids.get('c two')]]);
    await plant('c', `update arrival set amount = amount - 1`);
    const resume = `update payout_stop set resumed_at = now(), resumed_by = 'spec'`;
    for (const cell of server.names) await server.query(cell, resume);
  });
});

describe('a process whose file does not name a cell that was added', () => {
  it('answers for its workspaces with 503, says why once, and serves the others', async () => {
    for (let call = 0; call < 2; call += 1) await expect(accounts(behind, 'c')).rejects.toMatchObject(UNAVAILABLE);
    await payerOf(behind.process, ids.get('b')!);

    expect(behind.warnings).toEqual([
      'Workspaces of the cell with the number 2 are unavailable until CELLS_FILE of this process names that cell.',
    ]);
  });

  it('verifies nothing over cells, instead of missing the halves there', async () => {
    await expect(verificationOf(behind).verifyNext()).rejects.toThrow('lacks the cell 2');

    for (const cell of server.names)
      expect(await server.query(cell, 'select from payout_stop where resumed_at is null')).toEqual([]);
  });

  it('holds payments to it, which are made soon after the file names it', async () => {
    for (const worker of workers.splice(0)) await worker.stop();
    const statuses = await payFromB(await accountIn('c two'));
    for (const { use } of behind.process.cells.all()) workers.push(use!.startWork());
    const delayed = `from work where kind = 'crossing' and delays > 0 and tries = 0`;
    await until(async () => (await server.query('b', `select ${delayed}`)).length > 0);
    expect(await statuses()).toEqual(['pending']);
    // As after many failures.
    const later = `update work set delays = 9, due_at = now() + interval '15 minutes'
                   where kind = 'crossing' and leased_until is null returning 1`;
    await until(async () => (await server.query('b', later)).length > 0);

    await behind.write({ b: entry('b'), c: entry('c') });

    await completed(statuses);
    expect((await accounts(behind, 'c two')).items.length).toBeGreaterThan(0);
  });
});

/** The code of a new account. */
async function accountIn(name: string): Promise<string> {
  const [product] = await running.process.banking.listProducts({});
  return (await running.process.banking.openAccount(scopeOf(name), { productID: product!.id })).resource.code!;
}

/** Places an order of a new account in b. @returns reads the statuses of its executions */
async function payFromB(accountCode: string): Promise<() => Promise<readonly string[]>> {
  const { banking } = running.process;
  const { from } = await payerOf(running.process, ids.get('b')!);
  const { resource: recipient } = await banking.addInternalRecipient(scopeOf('b'), { accountCode });
  const payment = { accountId: from.id, recipientID: recipient.id, amount: '100' as TransferAmount } as const;
  const { resource: order } = await banking.placeOrder(scopeOf('b'), { ...payment, type: 'instant' });
  return async () => {
    const { edges } = await banking.getOrder(scopeOf('b'), { accountId: from.id, orderId: order.id });
    return edges.executions!.map(({ status }) => status);
  };
}

const completed = (statuses: () => Promise<readonly string[]>) =>
  until(statuses, (found) => found.join() === 'completed');
