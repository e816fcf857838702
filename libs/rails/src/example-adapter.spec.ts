import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as ts from 'typescript';
import { freshDatabase, type FreshDatabase, until } from '@banking/postgres/testing';
import { checkConformance } from './conformance.js';
import { servedBy, type Served, TOKEN } from './testing/adapters.js';

const PAGE = readFileSync(join(__dirname, '../../../docs/connect-a-bank.md'), 'utf8');
const [, EXAMPLE = ''] = /```ts\n([\s\S]+?)```/.exec(PAGE) ?? [];

let world: FreshDatabase;
let folder: string;
let child: ChildProcess;
let config: Served['config'];
let given: Served;

beforeAll(async () => {
  world = await freshDatabase();
  const dist = join(__dirname, '../dist');
  mkdirSync(dist, { recursive: true });
  // In the package, so that the program finds the driver.
  folder = mkdtempSync(join(dist, 'example-'));
  const { outputText } = ts.transpileModule(EXAMPLE, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  });
  writeFileSync(join(folder, 'adapter.mjs'), outputText);
  const { connectionString, host, port, user, database } = world.connection;
  const parts = { PGHOST: host, PGPORT: String(port), PGUSER: user, PGDATABASE: database };
  const env = { ...(connectionString === undefined ? parts : { DATABASE_URL: connectionString }), TOKEN };
  child = spawn(process.execPath, [join(folder, 'adapter.mjs')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout!, 'data')) as [Buffer];
  given = await servedBy(() => undefined);
  config = { ...given.config, url: `http://127.0.0.1:${line.toString().trim()}` };
});
afterAll(async () => {
  const ended = once(child, 'exit');
  child.kill();
  await ended;
  await given.close();
  await world.close();
  rmSync(folder, { recursive: true });
});

describe('the example adapter of the documentation', () => {
  it('meets every check', async () => {
    expect((await checkConformance(config)).filter(({ isMet }) => !isMet)).toEqual([]);
  });

  it('hands a payment over that was stored and not handed over', async () => {
    const body = {
      amount: '500',
      currency: 'EUR',
      creditor: { name: 'Test Payee', account: 'DE71500105170000000000' },
    };
    await world.owner.query('insert into public.payment (key, body) values ($1, $2)', ['left-behind', body]);

    const found = await until(
      async () => {
        const response = await fetch(`${config.url}/payments/left-behind`, {
          headers: { authorization: `Bearer ${TOKEN}` },
        });
        return (await response.json()) as { readonly events: readonly { readonly status: string }[] };
      },
      ({ events }) => events.length > 0,
    );

    expect(found.events.map(({ status }) => status)).toEqual(['ACSP', 'ACCC']);
  });

  it('goes on after the server has ended its connections, an idle one and one in a transaction', async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'idempotency-key': 'held-up' };
    const body = { amount: '500', currency: 'EUR', creditor: { name: 'Test Payee', account: 'DE715001' } };
    const sessions = `pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and application_name = ''`;
    const states = async () =>
      (
        await world.owner.query<{ state: string; waits: boolean }>(
          `select distinct state, wait_event_type is not distinct from 'Lock' as waits from ${sessions}`,
        )
      ).rows;
    // The payment cannot be handed over meanwhile.
    await world.owner.query('begin');
    await world.owner.query('lock table public.event in share mode');
    await fetch(`${config.url}/payments`, { method: 'POST', headers, body: JSON.stringify(body) });
    await until(states, (found) => found.some(({ waits }) => waits) && found.some(({ state }) => state === 'idle'));

    await world.owner.query(`select pg_terminate_backend(pid) from ${sessions}`);
    await world.owner.query('commit');

    const handedOver = async () => {
      const response = await fetch(`${config.url}/payments/held-up`, { headers });
      return ((await response.json()) as { readonly events?: readonly unknown[] }).events ?? [];
    };
    expect(await until(handedOver, (found) => found.length > 0)).toHaveLength(2);
  });

  it('has at most 150 lines', () => {
    expect(EXAMPLE.split('\n').length).toBeLessThanOrEqual(150);
  });

  it('has the types that it names', () => {
    const path = join(folder, 'adapter.mts');
    writeFileSync(path, EXAMPLE);
    const program = ts.createProgram([path], {
      ...{ strict: true, noEmit: true, skipLibCheck: true, types: ['node'], noUncheckedIndexedAccess: true },
      ...{ target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext },
    });

    const mistakes = ts.getPreEmitDiagnostics(program).filter(({ file }) => file?.fileName === path);
    expect(mistakes.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
  });
});
