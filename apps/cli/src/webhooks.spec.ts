import type { WebhookDelivery } from '@banking/domain';
import { World } from './testing/world.js';

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

    expect((await world.run(deliveries('--status', 'pending'))).stdout).toBe('The endpoint has no such deliveries.\n');
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

describe('banking webhooks retry', () => {
  it('makes a failed delivery due now, and notes the operator in the audit trail', async () => {
    const { exitCode, stdout } = await world.run(retry(ids.failed, '--as', 'Mia'));

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
    expect(noted).toEqual([{ operation: 'retryWebhookDelivery', name: 'Mia' }]);
  });

  it.each([
    ['was delivered', () => ids.delivered, 'The delivery has arrived.\n'],
    ['does not exist', () => '999999', 'The webhook endpoint has no delivery with this id.\n'],
  ])('refuses a delivery that %s', async (_, id, message) => {
    const { exitCode, stdout, stderr } = await world.run(retry(id()));

    expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 1, stdout: '', stderr: message });
  });
});
