import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Order } from '@banking/domain';
import { bareEnvironment, isCi } from '../config.js';
import { type DemoIds, idOf } from '../service.js';
import { pgBouncerPath } from '../pooler/pgbouncer.js';
import { ComposedServices, HttpsCalls, postgresPrograms } from './composition.js';
import { readComposition, ROOT } from './deploy-files.js';

const has = (program: string) => spawnSync(program, ['version'], { stdio: 'ignore' }).error === undefined;
// Caddy, PostgreSQL, PgBouncer and OpenSSL are packages of Debian. A machine without them skips this, visibly. CI must run it.
const isPossible =
  isCi() || (has('caddy') && has('openssl') && postgresPrograms() !== undefined && pgBouncerPath() !== undefined);

const composition = readComposition();

(isPossible ? describe : describe.skip)('the composition of deploy/compose.yaml, without containers', () => {
  let folder: string;
  let composed: ComposedServices;
  let calls: HttpsCalls;
  let world: DemoIds;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'banking-composition-'));
    // PostgreSQL runs as another user if this is root.
    chmodSync(folder, 0o755);
    composed = await ComposedServices.start(composition, folder);
    calls = new HttpsCalls(composed.url, join(composed.secrets, 'ca-certificate'));
    world = JSON.parse((await composed.children.get('demo')?.succeeded()) ?? '') as DemoIds;
    expect(await calls.until(({ status }) => status === 200, '/health/ready')).toMatchObject({ status: 200 });
  }, 300_000);
  afterAll(async () => {
    await composed?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function token(): Promise<string> {
    const password = readFileSync(join(composed.secrets, 'demo-client-password'), 'utf8').trim();
    const { status, body } = await calls.served('/realms/banking/protocol/openid-connect/token', {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`banking-demo:${password}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials',
    });
    expect(status).toBe(200);
    return (body as { access_token: string }).access_token;
  }

  async function headers(): Promise<Record<string, string>> {
    const workspace = String(idOf(world, 'workspaces', 'Northwind Trading'));
    return { authorization: `Bearer ${await token()}`, 'workspace-id': workspace, 'content-type': 'application/json' };
  }

  it('pays an order: token of the provider, proxy, service, database, worker', async () => {
    const account = idOf(world, 'accounts', 'Northwind Trading EUR');
    const order = {
      recipientID: idOf(world, 'recipients', 'international'),
      amount: '10000',
      type: 'instant',
      purposeCode: 'IR001',
    };
    const own = await headers();

    const placed = await calls.served(`/accounts/${account}/orders`, {
      method: 'POST',
      headers: { ...own, 'idempotency-key': 'composition-1' },
      body: JSON.stringify(order),
    });

    expect(placed).toMatchObject({ status: 200 });
    const path = `/accounts/${account}/orders/${(placed.body as Order).id}`;
    const { body } = await calls.until((response) => statusOf(response.body as Order) === 'completed', path, {
      headers: own,
    });
    expect(statusOf(body as Order)).toBe('completed');
  });

  /** The status of the transaction of an order. A response that is no order has none. */
  const statusOf = ({ edges }: Partial<Order>) => edges?.executions?.[0]?.edges.transaction?.status;

  it('spreads requests over both services', async () => {
    const own = await headers();
    const apis = ['api-1', 'api-2'].map((name) => composed.children.get(name));
    const hasServed = (api: (typeof apis)[number]) => api?.output.text.includes('"route":"/accounts"') === true;

    const { status } = await calls.until(() => apis.every(hasServed), '/accounts', { headers: own });

    expect([status, apis.map(hasServed)]).toEqual([200, [true, true]]);
  });

  it('uses the logins of services and workers over TLS, and no other', () => {
    const sessions = composed.database.psql(
      '-At',
      '-c',
      // PgBouncer names the program of a connection after its last client.
      `select distinct usename, ssl from pg_stat_activity join pg_stat_ssl using (pid)
        where client_addr is not null order by 1`,
    );

    expect(sessions).toBe('banking|t\nworker|t\n');
  });

  it('has health checks that succeed', () => {
    for (const name of ['api-1', 'worker']) {
      const [, command = '', ...args] = composition.services[name]?.healthcheck?.test ?? [];
      const port = portOf(name);
      const replaced = args.map((part) => part.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`));
      execFileSync(command, replaced, { env: bareEnvironment() });
      expect(() =>
        execFileSync(
          command,
          args.map((part) => part.replace(/127\.0\.0\.1:\d+/, '127.0.0.1:1')),
          { stdio: 'ignore' },
        ),
      ).toThrow();
    }
  });

  const portOf = (name: string) => {
    const { text = '' } = composed.children.get(name)?.output ?? {};
    return (/^Ready on http:\/\/127\.0\.0\.1:(\d+)/m.exec(text) ?? /"healthPort":(\d+)/.exec(text))?.[1];
  };

  it('does not let the proxy reach the administration of the identity provider', async () => {
    // Such a path goes to the service, which does not know it.
    expect((await calls.served('/admin/')).status).toBe(404);
  });

  it('has no secret in an environment, in a command line or in an output', () => {
    const secrets = readdirSync(composed.secrets)
      .filter((name) => name.endsWith('-password'))
      .map((name) => readFileSync(join(composed.secrets, name), 'utf8').trim());
    const environments = Object.keys(composition.services).map((name) => JSON.stringify(composed.environmentOf(name)));
    const commands = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });

    expect(secrets).toHaveLength(8);
    for (const place of [...environments, commands, composed.log]) {
      expect(secrets.filter((secret) => place.includes(secret))).toEqual([]);
    }
  });

  it('refuses a secret file that is missing, before it connects', async () => {
    const changes = { DATABASE_PASSWORD_FILE: join(composed.secrets, 'nosuch') };
    const child = composed.startProgram('worker', changes, 'worker without password');

    expect(await child.ended).toEqual({ code: 2, signal: null });
    expect(child.output.stderr).toContain('The file that DATABASE_PASSWORD_FILE names cannot be read (ENOENT)');
  });

  it('stops within the time of the composition, with exit code 0', async () => {
    const names = ['api-1', 'api-2', 'worker'];

    const endings = await Promise.all(names.map((name) => composed.children.get(name)!.stop()));

    expect(endings).toEqual(names.map(() => ({ code: 0, signal: null })));
  });

  it('makes its secrets once', () => {
    const again = () =>
      execFileSync(join(ROOT, 'deploy/compose/make-secrets.sh'), [composed.secrets], {
        stdio: 'pipe',
        encoding: 'utf8',
      });

    expect(again).toThrow(/exists\. Remove it to make new secrets/);
  });
});
