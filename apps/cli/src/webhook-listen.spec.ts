import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { verifyWebhook } from '@banking/client/webhooks';
import { ended, World } from './testing/world.js';

const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;

const world = new World();
const servers: Server[] = [];
let ids: readonly number[];

beforeAll(async () => {
  await world.openDemo();
  const rows = await world.query('select id::int from event where workspace_id = 1 order by id');
  ids = rows.map(({ id }) => id as number);
});
afterAll(async () => {
  for (const server of servers) server.close();
  await world.close();
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?a=1`;
}

interface Received {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver that responds with the statuses, one after another, and then with 204. */
async function receiver(...statuses: readonly number[]) {
  const received: Received[] = [];
  const url = await serve((request, response) => {
    void text(request).then((body) => {
      received.push({ path: request.url, headers: request.headers, body });
      response.writeHead(statuses[received.length - 1] ?? 204, { location: '/elsewhere' }).end();
    });
  });
  return { url, received };
}

/** Runs the command until it has printed so many lines, then presses Ctrl-C. */
async function listen(lines: number, ...args: readonly string[]) {
  const child = world.start(['webhooks', 'listen', '--workspace', '1', ...args]);
  let output = '';
  child.stdout!.on('data', (chunk: Buffer) => {
    const before = output.split('\n').length;
    output += chunk.toString();
    if (before <= lines && output.split('\n').length > lines) child.kill('SIGINT');
  });
  return ended(child);
}

function secretFile(secret = SECRET): string {
  const file = join(world.dataDir, 'hook.secret');
  writeFileSync(file, `${secret}\n`);
  return file;
}

describe('banking webhooks listen', () => {
  it('forwards events with a new secret that it prints once, and tells how to continue', async () => {
    const { url, received } = await receiver(200, 500, 302);
    const { exitCode, stdout, stderr } = await listen(ids.length, '--forward', url, '--after', String(ids[0]));

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const [first = '', ...lines] = stdout.trimEnd().split('\n');
    const secret = /^New secret of the signatures: (whsec_\S{44})$/.exec(first)?.[1] ?? '';
    expect(stdout.split(secret)).toHaveLength(2);
    expect(lines.pop()).toBe(`Continue with --after ${ids.at(-1)}.`);
    expect(lines.map((line) => Number(line.split(/ +/)[1]))).toEqual(ids.slice(1));
    expect(lines.slice(0, 4).map((line) => /(\d{3}) {2}\d+ ms$/.exec(line)?.[1])).toEqual(['200', '500', '302', '204']);
    expect(stdout).not.toContain('\u001b');

    expect(received.map(({ path }) => path)).toEqual(ids.slice(1).map(() => '/hook?a=1'));
    for (const [index, { headers, body }] of received.entries()) {
      const id = ids[index + 1];
      expect(headers).toMatchObject({
        'content-type': 'application/json',
        'webhook-id': expect.stringMatching(`^evt_1_${id}_\\d{20}$`) as string,
      });
      expect(await verifyWebhook(headers, body, secret)).toMatchObject({ data: { id } });
    }
  });

  it('forwards the events of a type as JSON lines, with the secret of a file', async () => {
    const { url, received } = await receiver(410);
    const rows = await world.query(
      `select id::int from event where workspace_id = 1 and type = 'account.opened' order by id`,
    );
    const options = ['--secret-file', secretFile(), '--type', 'account.opened', '--after', '0', '--json'];
    const { exitCode, stdout } = await listen(rows.length, '--forward', url, ...options);

    expect(exitCode).toBe(0);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    expect(lines.map(({ eventID }) => eventID)).toEqual(rows.map(({ id }) => id));
    expect(lines[0]).toEqual({
      eventID: rows[0]?.['id'],
      type: 'account.opened',
      webhookID: expect.stringMatching(`^evt_1_${String(rows[0]?.['id'])}_\\d{20}$`) as string,
      durationMs: expect.any(Number) as number,
      status: 410,
    });
    const { headers, body } = received[0]!;
    expect(await verifyWebhook(headers, body, SECRET)).toMatchObject({ type: 'account.opened' });
  });

  it('waits for the next event, and begins with it', async () => {
    const { url, received } = await receiver();
    const running = listen(2, '--forward', url);
    const insert = `insert into event (workspace_id, type, resource_type, resource_id, sequence, changes, actor, created_at)
       values (1, 'account.opened', 'account', 999999, $1, '{"status": {"before": null, "after": "enabled"}}', '{"type": "user", "id": 1}', now())`;
    // Until the command has begun to follow, an event is not its next one.
    let isOver = false;
    void running.finally(() => (isOver = true));
    for (let sequence = 1; !isOver; sequence += 1) await world.query(insert, sequence);

    expect(await running).toMatchObject({ exitCode: 0 });
    const { resource, sequence } = (JSON.parse(received[0]!.body) as { data: { resource: object; sequence: number } })
      .data;
    expect(resource).toEqual({ type: 'account', id: 999_999 });
    expect(sequence).toBeGreaterThan(1);
  });

  it('shows a receiver that is away, and goes on', async () => {
    const url = await serve((request) => request.socket.destroy());
    const { exitCode, stdout } = await listen(3, '--forward', url, '--after', '0', '--secret-file', secretFile());

    expect(exitCode).toBe(0);
    expect(stdout).not.toContain('whsec_');
    expect(stdout.match(/ {2}no response \((ECONNRESET|UND_ERR_SOCKET)\) {2}\d+ ms$/gm)?.length).toBeGreaterThan(2);
  });

  it('ends by Ctrl-C during a request, which then counts as not sent', async () => {
    const children: ReturnType<World['start']>[] = [];
    const url = await serve(() => children[0]?.kill('SIGINT'));
    const args = ['--workspace', '1', '--forward', url, '--after', '0', '--secret-file', secretFile()];
    const child = world.start(['webhooks', 'listen', ...args]);
    children.push(child);

    expect(await ended(child)).toEqual({ exitCode: 0, stdout: '', stderr: '' });
  });

  it.each<[string, () => readonly string[], string]>([
    ['an unknown workspace', () => ['--workspace', '999'], 'There is no workspace 999. See banking workspace list.\n'],
    [
      'a short secret',
      () => ['--workspace', '1', '--secret-file', secretFile('whsec_AAAA')],
      'A secret has another form. A secret is "whsec_"',
    ],
    ['a missing file', () => ['--workspace', '1', '--secret-file', 'none'], 'The file none cannot be read: '],
  ])('refuses %s', async (_, args, message) => {
    const run = await world.run(['webhooks', 'listen', '--forward', 'http://127.0.0.1:1/hook', ...args()]);

    expect(run).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(message) as string });
    expect(run.stderr).not.toContain('whsec_AAAA');
  });
});
