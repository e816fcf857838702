import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { type Database, OPERATOR_ROLE, SCHEMA } from '@banking/postgres';
import { openDatabase } from '@banking/postgres/testing';
import { type CheckResult, sandboxAdapter } from '@banking/rails';
import { World } from './testing/world.js';

const TOKEN = 'a token of specs';

const world = new World();
let server: EmbeddedServer;
let network: Database;
let adapter: Server;
let broken: Server;
let calls: Server;
let called = 0;

const portOf = async (one: Server) => {
  one.listen(0, '127.0.0.1');
  await once(one, 'listening');
  return (one.address() as AddressInfo).port;
};

beforeAll(async () => {
  await world.openDemo();
  server = await attachEmbeddedServer({ dataDir: world.dataDir });
  const { connection } = server;
  network = await openDatabase({ connection, role: OPERATOR_ROLE, schema: SCHEMA, poolSize: 2 });
  adapter = sandboxAdapter({ database: network, token: TOKEN, pace: 0 });
  broken = createServer((_, response) => response.writeHead(500).end());
  writeFileSync(join(world.dataDir, 'token'), `${TOKEN}\n`);
  const account = '{ currency: INR, id: "0042", bic: HDFCINBB, holder: Harbour Ltd }';
  writeFileSync(
    join(world.dataDir, 'rails.yaml'),
    `rails:
  - name: bank-a
    kind: http
    serves: [{ payoutMethod: LOCAL, countries: [IN] }, { currencies: [INR] }]
    accounts: [${account}]
    url: http://127.0.0.1:${await portOf(adapter)}
    tokenFile: token
    testMode: true
  - { name: broken, kind: http, testMode: true, accounts: [${account}], url: "http://127.0.0.1:${await portOf(broken)}", tokenFile: token }
  - { name: sandbox, kind: sandbox }
`,
  );
  calls = createServer((_, response) => {
    called += 1;
    response.end();
  });
  const live = `name: live, kind: http, accounts: [${account}], url: "http://127.0.0.1:${await portOf(calls)}", tokenFile: token`;
  writeFileSync(join(world.dataDir, 'live.yaml'), `rails: [{ ${live} }]\n`);
});
afterAll(async () => {
  for (const one of [adapter, broken, calls]) {
    one.closeAllConnections();
    one.close();
  }
  await network.end();
  await server.detach();
  await world.close();
});

const run = (...args: readonly string[]) =>
  world.run(['rail', ...args], { RAILS_FILE: join(world.dataDir, 'rails.yaml') });

const json = async <T>(...args: readonly string[]): Promise<T> =>
  JSON.parse((await run(...args, '--json')).stdout) as T;

describe('banking rail list', () => {
  it('shows the networks in their order, with what they serve and no secret', async () => {
    const { exitCode, stdout } = await run('list');

    expect(exitCode).toBe(0);
    expect(stdout.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['Rail', 'Kind', 'Serves', 'Accounts'],
      ['bank-a', 'http', 'LOCAL, IN; INR', 'INR 0042'],
      ['broken', 'http', 'all', 'INR 0042'],
      ['sandbox', 'sandbox', 'all'],
      [''],
    ]);
    expect(await json('list')).toMatchObject([
      { name: 'bank-a', kind: 'http', serves: [{ payoutMethod: 'LOCAL', countries: ['IN'] }, { currencies: ['INR'] }] },
      { name: 'broken', accounts: [{ currency: 'INR', id: '0042', bic: 'HDFCINBB' }] },
      { name: 'sandbox', serves: [], accounts: [] },
    ]);
  });

  it('ends with exit code 2 and all mistakes of the file', async () => {
    writeFileSync(
      join(world.dataDir, 'wrong.yaml'),
      'rails:\n  - { name: a, kind: pigeon }\n  - { name: B, kind: sandbox }\n',
    );

    const { exitCode, stderr } = await world.run(['rail', 'list'], { RAILS_FILE: join(world.dataDir, 'wrong.yaml') });

    expect(exitCode).toBe(2);
    expect(stderr).toMatch(
      /line 2, rails\[0\]\.kind: Write one of: http, iso20022, sandbox\.[\s\S]+line 3, rails\[1\]\.name:/,
    );
  });
});

describe('banking rail status', () => {
  it('shows the open payouts of each network, and of one that is not configured', async () => {
    await world.query(`
      with chosen as (select workspace_id, transaction_id from payout where status = 'submitted' order by 2 limit 1),
        changed as (
          update payout p set rail = 'removed', created_at = now() - interval '1 hour', tries = 0, status = 'due'
          from chosen s where p.transaction_id = s.transaction_id returning p.workspace_id, p.transaction_id)
      insert into work (workspace_id, kind, subject_id, rail) select workspace_id, 'payout', transaction_id, 'removed' from changed`);

    const status = await json<readonly Record<string, unknown>[]>('status');

    expect(status).toEqual([
      ...['bank-a', 'broken', 'sandbox'].map((rail) => ({
        ...{
          rail,
          isConfigured: true,
          held: 0,
          due: 0,
          submitting: 0,
          submitted: 0,
          parked: 0,
          oldestWaitingSeconds: null,
        },
      })),
      {
        ...{ rail: 'removed', isConfigured: false, held: 0, due: 1, submitting: 0, submitted: 0, parked: 0 },
        oldestWaitingSeconds: expect.any(Number),
      },
    ]);
    expect(status.at(-1)!['oldestWaitingSeconds']).toBeGreaterThanOrEqual(3_600);
    expect((await run('status')).stdout).toMatch(/^removed +0 +1 +0 +0 +0 +36\d\d s +not configured$/m);
  });
});

describe('banking rail status of a bank with files', () => {
  it('counts what waits for a file, and the files of both sides', async () => {
    const folder = join(world.dataDir, 'exchange');
    mkdirSync(join(folder, 'in'), { recursive: true });
    writeFileSync(join(folder, 'in', 'a.xml'), '');
    const account = '{ currency: INR, id: "0042", bic: HDFCINBB, holder: Harbour Ltd }';
    const settings = `name: files, kind: iso20022, testMode: true, folder: exchange, accounts: [${account}]`;
    const railsFile = join(world.dataDir, 'files.yaml');
    writeFileSync(railsFile, `rails: [{ ${settings} }]\n`);
    await world.query(
      `insert into file_payment (rail, key, end_to_end_id, amount, currency, content) values ('files', 'k1', 'k1', 1, 'INR', '{}')`,
    );
    const note = 'Payments that our file does not have: 1.';
    await world.query(
      `insert into bank_file (rail, name, digest, outcome, note) values ('files', 'b.xml', sha256('b'), 'read', '${note}')`,
    );
    const status = (...args: readonly string[]) => world.run(['rail', 'status', ...args], { RAILS_FILE: railsFile });

    expect((await status()).stdout).toMatch(/^files +b\.xml +\S+Z +Payments that our file does not have: 1\.$/m);
    expect(JSON.parse((await status('--json')).stdout)).toContainEqual({
      ...{
        rail: 'files',
        isConfigured: true,
        held: 0,
        due: 0,
        submitting: 0,
        submitted: 0,
        parked: 0,
        oldestWaitingSeconds: null,
      },
      files: {
        ...{ paymentsWaiting: 1, filesUnwritten: 0, filesUnread: 1, filesRefused: 0 },
        notes: [{ file: 'b.xml', receivedAt: expect.any(String), note }],
      },
    });
    expect((await status()).stdout).toMatch(/^files +1 +0 +1 +0$/m);
    expect((await world.run(['rail', 'list'], { RAILS_FILE: railsFile })).stdout).toMatch(
      /^files +iso20022 +all +INR 0042$/m,
    );
  });

  it('shows what the database has where the folder of the bank is not', async () => {
    const railsFile = join(world.dataDir, 'elsewhere.yaml');
    const account = '{ currency: INR, id: "0042", bic: HDFCINBB, holder: Harbour Ltd }';
    writeFileSync(
      railsFile,
      `rails: [{ name: elsewhere, kind: iso20022, folder: not-mounted, accounts: [${account}], testMode: true }]\n`,
    );
    const run = (...args: readonly string[]) => world.run(args, { RAILS_FILE: railsFile });

    expect((await run('rail', 'status')).stdout).toMatch(/^elsewhere +0 +0 +no folder here +no folder here$/m);
    expect((await run('work', 'list')).exitCode).toBe(0);
    expect((await run('work', 'reconcile')).stderr).toMatch(/rails\[0\]\.folder: The folder cannot be used \(ENOENT\)/);
  });
});

describe('banking rail check', () => {
  it('has no complaint about the adapter of the sandbox network', async () => {
    const { exitCode, stdout } = await run('check', 'bank-a');

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^Check +Result +What to change$/m);
    expect(stdout.match(/ met$/gm)).toHaveLength(17);
  });

  it('ends with exit code 1 and what to change', async () => {
    const { exitCode, stdout, stderr } = await run('check', 'broken', '--json');

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/checks are not met\.$/m);
    expect((JSON.parse(stdout) as CheckResult[])[1]).toEqual({
      ...{ check: 'lists events up to an end', isMet: false, change: 'Answer 200 to GET /events, not 500.' },
    });
  });

  it.each([
    ['none', /There is no rail none/],
    ['sandbox', /has no adapter to check/],
  ])('refuses the rail %s', async (name, message) => {
    expect(await run('check', name)).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(message) });
  });
});

describe('banking rail check of an adapter that moves money', () => {
  const check = (settings: Readonly<Record<string, string>>) =>
    world.run(['rail', 'check', 'live'], { RAILS_FILE: join(world.dataDir, 'live.yaml'), ...settings });

  it('is refused in a live deployment, before any call', async () => {
    expect(await check({ SANDBOX: 'off' })).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/The rail live moves money, and the check makes payments of 123\.45\./),
    });
    expect(called).toBe(0);
  });

  it('is refused in a sandbox, which has no such adapter', async () => {
    expect(await check({ SANDBOX: 'on' })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/rails\[0\]: A sandbox has no adapter that moves money/),
    });
    expect(called).toBe(0);
  });
});

describe('banking rail adapter', () => {
  it('serves the sandbox network to callers with the token, until it is stopped', async () => {
    const child = world.start(['rail', 'adapter', '--port', '0', '--token-file', join(world.dataDir, 'token')]);
    let stdout = '';
    const listening = new Promise<string>((resolve) => {
      child.stdout!.on('data', (chunk: Buffer) => {
        stdout += chunk.toString();
        const [, url] = /^Listening at (\S+)\n/m.exec(stdout) ?? [];
        if (url !== undefined) resolve(url);
      });
    });
    const url = await listening;
    const statusOf = async (token: string) =>
      (await fetch(`${url}/payments/none`, { headers: { authorization: `Bearer ${token}` } })).status;

    expect([await statusOf(TOKEN), await statusOf('another')]).toEqual([404, 401]);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect((await ended)[0]).toBe(143);
  });

  it('is refused without a usable token', async () => {
    const options = ['--port', '0', '--token-file', join(world.dataDir, 'none')];

    expect(await run('adapter', ...options)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/token file cannot be read/),
    });
  });
});
