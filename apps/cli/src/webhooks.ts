import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { styleText } from 'node:util';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { signWebhook } from '@banking/client/webhooks';
import {
  type Event,
  type EventId,
  type EventType,
  type WebhookDelivery,
  type WebhookDeliveryId,
  type WebhookDeliveryStatus,
  type WebhookEndpointId,
  webhookIdOf,
  type WorkspaceId,
  EVENT_TYPES,
} from '@banking/domain';
import { countWebhookSecrets, newestDeliveries, retryDelivery, tailEvents } from '@banking/operations/provisioning';
import { Interrupted, withDeployment } from './deployment.js';
import { inCellOf, onEachCell, printRows } from './each-cell.js';
import { type JsonOptions, examples, jsonOption, lookupOption, parseIdOf, workspaceOption } from './inputs.js';
import { print, printJson, printTable, Refused, TYPE_WIDTH } from './print.js';

interface TailOptions {
  readonly workspace: WorkspaceId;
  readonly type?: readonly EventType[];
  readonly after?: EventId;
  readonly json?: boolean;
}

/** Which events a command follows. */
const typeOption = () =>
  new Option('--type <type...>', 'only events of these types').choices(EVENT_TYPES.map(({ type }) => type));

/** Where a command that follows events begins. */
const afterOption = () =>
  new Option('--after <id>', 'begin behind the event with this id, or with 0 at the oldest (the next event)').argParser(
    (text: string) => (text === '0' ? 0 : parseIdOf<EventId>(text)),
  );

export function addEventCommands(program: Command): void {
  const events = program
    .command('events')
    .summary('follow the events of a workspace')
    .description('Shows what happens in a workspace: orders, payments, accounts and recipients.')
    .addHelpText('after', examples('banking events tail --workspace 1'));

  events
    .command('tail')
    .summary('print events as they are recorded')
    .description(
      'Prints the events of a workspace as they are recorded, one to a line, until Ctrl-C: time, id, type, resource, statuses and actor. ' +
        'An event names a resource and has no amounts or names. A worker records events; without one, none appear.',
    )
    .addOption(workspaceOption('id of the workspace').makeOptionMandatory())
    .addOption(typeOption())
    .addOption(afterOption())
    .addOption(new Option('--json', 'print one JSON document a line, for programs'))
    .addHelpText(
      'after',
      examples(
        'banking events tail --workspace 1',
        'banking events tail --workspace 1 --type order.completed transaction.failed',
        'banking events tail --workspace 1 --after 0 --json',
      ),
    )
    .action(async (options: TailOptions) => {
      const isColoured = process.stdout.isTTY && process.stdout.hasColors();
      await followEvents(options, async (events) => {
        for await (const event of events) print(options.json ? JSON.stringify(event) : shown(event, isColoured));
      });
    });
}

/** Hands on the events of a workspace until Ctrl-C, or until the reader of the output closes the pipe, such as `head`. */
async function followEvents(
  { workspace: workspaceId, type: types, after }: TailOptions,
  take: (events: AsyncIterable<Event>, signal: AbortSignal) => Promise<void>,
  onInterrupt: () => void = () => undefined,
): Promise<void> {
  const ended = new AbortController();
  const { signal } = ended;
  const end = () => ended.abort();
  process.stdout.once('error', end);
  try {
    await withDeployment(
      ({ database }) => take(tailEvents(database, { workspaceId, after, types, signal }), signal),
      await inCellOf(workspaceId),
    );
  } catch (error) {
    if (error === signal.reason) return;
    if (!(error instanceof Interrupted)) throw error;
    onInterrupt();
  } finally {
    process.stdout.off('error', end);
    end();
  }
}

const GOOD = /\.(completed|opened|enabled|resumed|released)$/;
const BAD = /\.(failed|returned|parked|paused|disabled)$/;

function shown({ id, type, createdAt, resource, changes, actor }: Event, isColoured: boolean): string {
  const { status } = changes;
  const steps = status && `${status.before ?? 'new'} → ${status.after}`;
  const by = actor.id === undefined ? actor.type : `${actor.type} ${actor.id}`;
  const colour = GOOD.test(type) ? 'green' : BAD.test(type) ? 'red' : 'cyan';
  const name = type.padEnd(TYPE_WIDTH);
  return [
    isColoured ? styleText('dim', createdAt) : createdAt,
    String(id).padStart(6),
    isColoured ? styleText(colour, name) : name,
    `${resource.type} ${resource.id}`.padEnd(18),
    ...(steps === undefined ? [] : [steps]),
    `by ${by}`,
  ].join('  ');
}

interface EndpointOptions {
  readonly workspace: WorkspaceId;
  readonly endpoint: WebhookEndpointId;
}

interface DeliveriesOptions extends EndpointOptions {
  readonly status?: WebhookDeliveryStatus;
  readonly json?: boolean;
}

interface RetryOptions extends EndpointOptions, JsonOptions {
  readonly delivery: WebhookDeliveryId;
}

const STATUSES: readonly WebhookDeliveryStatus[] = ['pending', 'delivered', 'failed'];

const HEAD = ['Id', 'Event', 'Type', 'Kind', 'Status', 'Attempts', 'Last attempt', 'Response', 'Next attempt'];

export function addWebhookCommands(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .summary('list and retry deliveries of webhooks, and forward events to a receiver under development')
    .description(
      'Shows what was delivered to a webhook endpoint, retries a delivery, sends events to a receiver under development, and shows which ' +
        'keys seal secrets.',
    )
    .addHelpText(
      'after',
      examples(
        'banking webhooks deliveries --workspace 1 --endpoint 3 --status failed',
        'banking webhooks listen --workspace 1 --forward http://127.0.0.1:9000/hook',
      ),
    );
  addListenCommand(webhooks);

  webhooks
    .command('deliveries')
    .summary('list the deliveries of an endpoint')
    .description(
      'Lists the deliveries of a webhook endpoint, newest first, at most 100: the number of attempts, and the status of the last response or ' +
        'why there was none.',
    )
    .addOption(workspaceOption('id of the workspace').makeOptionMandatory())
    .addOption(endpointOption())
    .addOption(new Option('--status <status>', 'only deliveries with this status').choices(STATUSES))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking webhooks deliveries --workspace 1 --endpoint 3 --status failed'))
    .action(async ({ workspace: workspaceId, endpoint: endpointId, status, json }: DeliveriesOptions) => {
      const deliveries = await withDeployment(
        ({ database }) => newestDeliveries(database, { workspaceId, endpointId }, status),
        { changesNothing: true, ...(await inCellOf(workspaceId)) },
      );
      if (json) printJson(deliveries);
      else printTable(HEAD, deliveries.map(cellsOf), 'The endpoint has no such deliveries.');
    });

  webhooks
    .command('retry')
    .summary('retry a delivery now')
    .description(
      'Makes a pending or failed delivery due now. A worker then sends it. The endpoint must not be disabled.',
    )
    .addOption(workspaceOption('id of the workspace').makeOptionMandatory())
    .addOption(endpointOption())
    .addOption(
      new Option('--delivery <id>', 'id of the delivery; see banking webhooks deliveries')
        .argParser(parseIdOf<WebhookDeliveryId>)
        .makeOptionMandatory(),
    )
    .addOption(jsonOption())
    .addHelpText('after', examples('banking webhooks retry --workspace 1 --endpoint 3 --delivery 9'))
    .action(async (options: RetryOptions) => {
      const { workspace: workspaceId, endpoint: endpointId, delivery, json } = options;
      const retried = await withDeployment(
        ({ database }) => retryDelivery(database, { workspaceId, endpointId }, delivery),
        await inCellOf(workspaceId),
      );
      if (json) printJson(retried);
      else print(`Delivery ${delivery} of endpoint ${endpointId} of workspace ${workspaceId} is due now.`);
    });

  webhooks
    .command('keys')
    .summary('count the secrets that each key of WEBHOOK_KEY seals')
    .description(
      'Lists the keys that seal secrets of webhook endpoints, with the number of secrets in use. A key that is not listed can be removed from ' +
        'WEBHOOK_KEY. A key is shown as the first 16 hexadecimal digits of its SHA-256.',
    )
    .addOption(jsonOption())
    .addHelpText('after', examples('banking webhooks keys'))
    .action(async ({ json }: JsonOptions) => {
      const read = await onEachCell(({ database }) => countWebhookSecrets(database), { changesNothing: true });
      printRows(read, json, {
        head: ['Key', 'Secrets'],
        cells: ({ key, secrets }) => [key, secrets],
        none: 'There are no secrets of webhook endpoints.',
      });
      read.end();
    });
}

function endpointOption(): Option {
  return new Option('--endpoint <id>', 'id of the webhook endpoint')
    .argParser(parseIdOf<WebhookEndpointId>)
    .makeOptionMandatory();
}

function cellsOf({ id, eventID, eventType, kind, status, attempts, lastAttempt, nextAttemptAt }: WebhookDelivery) {
  const response = lastAttempt?.responseStatus ?? lastAttempt?.error ?? '';
  return [
    ...[id, eventID ?? '', eventType, kind, status, attempts],
    ...[lastAttempt?.at ?? '', response, nextAttemptAt ?? ''],
  ];
}

interface ListenOptions extends TailOptions {
  readonly forward: URL;
  readonly secretFile?: string;
}

function addListenCommand(webhooks: Command): void {
  webhooks
    .command('listen')
    .summary('forward events to a URL as they are recorded')
    .description(
      'Sends the events of a workspace to a URL as they are recorded, signed as webhooks, until Ctrl-C. Prints status and duration of each ' +
        'response. Sends each event once, in order, and creates no endpoint. A worker records events; without one, none appear.',
    )
    .addOption(workspaceOption('id of the workspace').makeOptionMandatory())
    .addOption(new Option('--forward <url>', 'URL of the receiver').argParser(parseUrl).makeOptionMandatory())
    .addOption(lookupOption('--secret-file <file>', 'file with the secret, whsec_… (a new one, printed once)'))
    .addOption(typeOption())
    .addOption(afterOption())
    .addOption(new Option('--json', 'print one JSON document a line, for programs'))
    .addHelpText(
      'after',
      examples(
        'banking webhooks listen --workspace 1 --forward http://127.0.0.1:9000/hook',
        'banking webhooks listen --workspace 1 --forward http://127.0.0.1:9000/hook --secret-file hook.secret --after 0',
        'banking webhooks listen --workspace 1 --forward http://127.0.0.1:9000/hook --type order.completed --json',
      ),
    )
    .action(listen);
}

async function listen(options: ListenOptions): Promise<void> {
  const { workspace: workspaceId, forward: url, secretFile } = options;
  const secret = await secretOf(options);
  const isJson = options.json === true;
  const isColoured = process.stdout.isTTY && process.stdout.hasColors();
  let last: EventId | undefined;
  await followEvents(
    options,
    async (events, signal) => {
      if (secretFile === undefined)
        print(isJson ? JSON.stringify({ secret }) : `New secret of the signatures: ${secret}`);
      for await (const event of events) {
        const result = await forwardWebhook({ workspaceId, url, secret }, event, signal);
        last = event.id;
        print(isJson ? JSON.stringify(documentOf(event, result)) : lineOf(event, result, isColoured));
      }
    },
    () => {
      if (last !== undefined && !isJson) print(`Continue with --after ${last}.`);
    },
  );
}

/** @throws Refused for a file that cannot be read, and for a secret of another form, without quoting it */
async function secretOf({ secretFile }: Pick<ListenOptions, 'secretFile'>): Promise<string> {
  const text = secretFile === undefined ? `whsec_${randomBytes(32).toString('base64')}` : await textOf(secretFile);
  const test = { type: 'webhook.test', timestamp: '', data: {} };
  await signWebhook(test, text, { id: 'evt_0', timestamp: new Date() }).catch((error: Error) => {
    throw new Refused(error.message);
  });
  return text;
}

async function textOf(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new Refused(`The file ${file} cannot be read: ${error.message}.`);
  });
  return text.trim();
}

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new InvalidArgumentError(
      'Write an http or https URL without a user name, such as http://127.0.0.1:9000/hook.',
    );
  }
  return url;
}

const documentOf = ({ id, type }: Event, result: ForwardResult) => ({ eventID: id, type, ...result });

function lineOf({ id, type, createdAt, resource }: Event, result: ForwardResult, isColoured: boolean): string {
  const { status, error, durationMs } = result;
  const isDelivered = status !== undefined && status >= 200 && status < 300;
  const response = status === undefined ? `${error}` : String(status);
  return [
    isColoured ? styleText('dim', createdAt) : createdAt,
    String(id).padStart(6),
    type.padEnd(TYPE_WIDTH),
    `${resource.type} ${resource.id}`.padEnd(18),
    isColoured ? styleText(isDelivered ? 'green' : 'red', response) : response,
    `${durationMs} ms`,
  ].join('  ');
}

interface Receiver {
  readonly workspaceId: WorkspaceId;
  readonly url: URL;
  readonly secret: string;
}

interface ForwardResult {
  readonly webhookID: string;
  readonly durationMs: number;
  /** The status of the response. Missing without a response. */
  readonly status?: number;
  readonly error?: string;
}

/** As long as the service waits for the response of an endpoint. */
const TIMEOUT_MS = 15_000;

/** Sends an event to a receiver once, signed as the service signs it. Redirects are not followed. @throws the reason of `signal` */
async function forwardWebhook(
  { workspaceId, url, secret }: Receiver,
  event: Event,
  signal: AbortSignal,
): Promise<ForwardResult> {
  const webhookID = webhookIdOf(workspaceId, event);
  const webhook = { type: event.type, timestamp: event.createdAt, data: event };
  const { headers, body } = await signWebhook(webhook, secret, { id: webhookID, timestamp: new Date() });
  const start = performance.now();
  const passed = () => Math.round(performance.now() - start);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const durationMs = passed();
    // The status is the result. The rest of the response is not read.
    await response.body?.cancel();
    return { webhookID, durationMs, status: response.status };
  } catch (error) {
    signal.throwIfAborted();
    return { webhookID, durationMs: passed(), error: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  const { name, cause } = error as { readonly name?: string; readonly cause?: { readonly code?: string } };
  if (name === 'TimeoutError') return `no response within ${TIMEOUT_MS / 1000} seconds`;
  return `no response (${cause?.code ?? name ?? 'unknown'})`;
}
