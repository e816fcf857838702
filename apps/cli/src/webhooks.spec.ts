import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { verifyWebhook } from '@banking/client/webhooks';
import type { Event, WebhookDelivery } from '@banking/domain';
import { OPERATOR, ended, World } from './testing/world.js';

describe('webhooks', () => {
  const world = new World();
  let endpoint: string;
  let ids: Readonly<Record<'delivered' | 'failed' | 'pending', string>>;

  beforeAll(async () => {
    await world.openDemo();
    const [made] = await world.query(
      `insert into webhook_endpoint (workspace_id, url, status, sealed_secret, cursor_event_id, created_by)
     values (1, 'https://hooks.northwind.example/banking', 'enabled', 'sealed', 0, 1) returning id`,
    );
    endpoint = String(made?.['id']);
    const deliver = async (event: number, columns: string, values: string) => {
      const [row] = await world.query(
        `insert into webhook_delivery (workspace_id, endpoint_id, event_id, event_type, kind, ${columns})
       values (1, $1, $2, 'order.placed', 'event', ${values}) returning id`,
        endpoint,
        event,
      );
      return String(row?.['id']);
    };
    const last = 'attempts, last_attempt_at, last_duration_ms';
    ids = {
      delivered: await deliver(
        1,
        `status, ${last}, last_response_status`,
        `'delivered', 1, '2026-11-23T12:00:00Z', 7, 204`,
      ),
      failed: await deliver(2, `status, ${last}, last_error`, `'failed', 10, '2026-11-23T12:00:01Z', 15000, 'timeout'`),
      pending: await deliver(3, 'next_attempt_at', `'2999-01-01'`),
    };
  });
  afterAll(() => world.close());

  const deliveries = (...args: readonly string[]) => [
    'webhooks',
    'deliveries',
    '--workspace',
    '1',
    '--endpoint',
    endpoint,
    ...args,
  ];
  const retry = (delivery: string, ...args: readonly string[]) => [
    'webhooks',
    'retry',
    '--workspace',
    '1',
    '--endpoint',
    endpoint,
    '--delivery',
    delivery,
    ...args,
  ];

  describe('banking webhooks deliveries', () => {
    it('lists the deliveries of an endpoint, newest first, with the last response or why there was none', async () => {
      const { exitCode, stdout } = await world.run(deliveries());

      expect(exitCode).toBe(0);
      const [head, ...lines] = stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.trim().split(/ {2,}/));
      expect(head).toEqual([
        'Id',
        'Event',
        'Type',
        'Kind',
        'Status',
        'Attempts',
        'Last attempt',
        'Response',
        'Next attempt',
      ]);
      expect(lines).toEqual([
        [ids.pending, '3', 'order.placed', 'event', 'pending', '0', '2999-01-01T00:00:00.000000Z'],
        [ids.failed, '2', 'order.placed', 'event', 'failed', '10', '2026-11-23T12:00:01.000000Z', 'timeout'],
        [ids.delivered, '1', 'order.placed', 'event', 'delivered', '1', '2026-11-23T12:00:00.000000Z', '204'],
      ]);
    });

    it('lists those of a status as JSON', async () => {
      const list = await world.json<readonly WebhookDelivery[]>(...deliveries('--status', 'failed'));

      expect(list.map(({ id }) => String(id))).toEqual([ids.failed]);
      expect(list[0]?.lastAttempt).toEqual({ at: '2026-11-23T12:00:01.000000Z', durationMs: 15_000, error: 'timeout' });
    });

    it('prints that there is none', async () => {
      await world.query(`delete from webhook_delivery where id = $1`, ids.pending);

      expect((await world.run(deliveries('--status', 'pending'))).stdout).toBe(
        'The endpoint has no such deliveries.\n',
      );
    });

    it('refuses an endpoint that the workspace does not have', async () => {
      const run = await world.run(['webhooks', 'deliveries', '--workspace', '2', '--endpoint', endpoint]);

      expect(run).toMatchObject({
        exitCode: 1,
        stdout: '',
        stderr: expect.stringMatching(/webhook endpoint/i) as string,
      });
    });
  });

  describe('banking webhooks keys', () => {
    it('counts the secrets that each key seals', async () => {
      await world.query(`update webhook_endpoint set sealed_secret = 'v1:0123456789abcdef:iv:secret:tag'`);

      expect(await world.json('webhooks', 'keys')).toEqual([{ key: '0123456789abcdef', secrets: 1 }]);
    });
  });

  describe('banking webhooks retry', () => {
    it('makes a failed delivery due now, and notes the operator in the audit trail', async () => {
      const { exitCode, stdout } = await world.run(retry(ids.failed));

      expect(exitCode).toBe(0);
      expect(stdout).toBe(`Delivery ${ids.failed} of endpoint ${endpoint} of workspace 1 is due now.\n`);
      const [row] = await world.query(
        'select status, next_attempt_at <= now() as due from webhook_delivery where id = $1',
        ids.failed,
      );
      expect(row).toEqual({ status: 'pending', due: true });
      const noted = await world.query(
        `select entry->>'operation' as operation, entry->'actor'->>'name' as name from (
         select jsonb_array_elements(entries) as entry from audit_outbox where workspace_id = 1) e
       where entry->>'operation' = 'retryWebhookDelivery'`,
      );
      expect(noted).toEqual([{ operation: 'retryWebhookDelivery', name: OPERATOR }]);
    });

    it.each([
      ['was delivered', () => ids.delivered, 'The delivery has arrived.\n'],
      ['does not exist', () => '999999', 'The webhook endpoint has no delivery with this id.\n'],
    ])('refuses a delivery that %s', async (_, id, message) => {
      const { exitCode, stdout, stderr } = await world.run(retry(id()));

      expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 1, stdout: '', stderr: message });
    });
  });
});

describe('banking webhooks listen', () => {
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

  it('ends when the reader of its output closes the pipe, and sends no more', async () => {
    const { url, received } = await receiver();
    const args = ['--workspace', '1', '--forward', url, '--after', '0', '--secret-file', secretFile()];
    const child = world.start(['webhooks', 'listen', ...args]);
    child.stdout!.once('data', () => child.stdout!.destroy());

    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(received.length).toBeLessThan(ids.length);
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

describe('banking events tail', () => {
  const world = new World();
  let workspaceEvents: readonly number[];

  beforeAll(async () => {
    await world.openDemo();
    const rows = await world.query('select id::int from event where workspace_id = 1 order by id');
    workspaceEvents = rows.map(({ id }) => id as number);
  });
  afterAll(() => world.close());

  /** Runs the command until its output has so many lines, then presses Ctrl-C. */
  async function tail(lines: number, ...args: readonly string[]) {
    const child = world.start(['events', 'tail', '--workspace', '1', ...args]);
    let output = '';
    child.stdout!.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.split('\n').length > lines) child.kill('SIGINT');
    });
    return ended(child);
  }

  it('prints events behind an id, without colours for a pipe, and ends with 0 by Ctrl-C', async () => {
    const { exitCode, stdout, stderr } = await tail(workspaceEvents.length - 1, '--after', String(workspaceEvents[0]));

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((line) => Number(line.split(/ +/)[1]))).toEqual(workspaceEvents.slice(1));
    expect(stdout).toMatch(/^\S+Z +\d+ {2}order\.completed +order \d+ +active → completed {2}by \w+/m);
    expect(stdout).not.toContain('\u001b');
  });

  it('prints the events of some types as JSON, and waits for the next', async () => {
    const before = await world.query(`select id from event where workspace_id = 1 and type = 'account.opened'`);
    const running = tail(before.length + 1, '--after', '0', '--json', '--type', 'account.opened');
    await world.query(
      `insert into event (workspace_id, type, resource_type, resource_id, sequence, changes, actor, created_at)
       values (1, 'account.opened', 'account', 999999, 1, '{"status": {"before": null, "after": "enabled"}}', '{"type": "user", "id": 1}', now())`,
    );

    const { exitCode, stdout } = await running;
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Event);
    expect(exitCode).toBe(0);
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['account.opened']));
    expect(events.at(-1)).toMatchObject({
      resource: { type: 'account', id: 999_999 },
      changes: { status: { after: 'enabled' } },
      actor: { type: 'user', id: 1 },
    });
  });

  it('ends with 0 when the reader of its output closes the pipe', async () => {
    const child = world.start(['events', 'tail', '--workspace', '1', '--after', '0']);
    child.stdout!.destroy();

    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it.each<[string, readonly string[], number, string]>([
    ['an unknown workspace', ['--workspace', '999'], 1, 'There is no workspace 999. See banking workspace list.\n'],
    ['an unknown type', ['--workspace', '1', '--type', 'order.lost'], 2, "argument 'order.lost' is invalid"],
    ['an id that is none', ['--workspace', '1', '--after', '-1'], 2, 'Write an id as digits'],
  ])('refuses %s', async (_, args, exitCode, message) => {
    const run = await world.run(['events', 'tail', ...args]);
    expect(run).toMatchObject({ exitCode, stdout: '', stderr: expect.stringContaining(message) as string });
  });
});
