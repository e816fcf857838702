import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { styleText } from 'node:util';
import { signWebhook } from '@banking/client/webhooks';
import { EVENT_TYPES, type Event, type EventId, type EventType, type WorkspaceId } from '@banking/domain';
import { tailEvents } from '@banking/operations/provisioning';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { Interrupted, withDeployment } from './deployment.js';
import { inCellOf } from './each-cell.js';
import { type ForwardResult, forwardWebhook } from './forward-webhook.js';
import { examples } from './help.js';
import { lookupOption, parseIdOf, workspaceOption } from './inputs.js';
import { print } from './print.js';
import { Refused } from './refused.js';

interface ListenOptions {
  readonly workspace: WorkspaceId;
  readonly forward: URL;
  readonly secretFile?: string;
  readonly type?: readonly EventType[];
  readonly after?: EventId;
  readonly json?: boolean;
}

/** Adds `listen` to the commands of webhooks. */
export function addListenCommand(webhooks: Command): void {
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
    .addOption(
      new Option('--type <type...>', 'only events of these types').choices(EVENT_TYPES.map(({ type }) => type)),
    )
    .addOption(
      new Option(
        '--after <id>',
        'begin behind the event with this id, or with 0 at the oldest (the next event)',
      ).argParser((text: string) => (text === '0' ? 0 : parseIdOf<EventId>(text))),
    )
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

async function listen({ workspace: workspaceId, forward: url, type: types, json, ...options }: ListenOptions) {
  const secret = await secretOf(options);
  const isJson = json === true;
  const isColoured = process.stdout.isTTY && process.stdout.hasColors();
  const ended = new AbortController();
  let last: EventId | undefined;
  try {
    await withDeployment(
      async ({ database }) => {
        const tail = tailEvents(database, { workspaceId, after: options.after, types, signal: ended.signal });
        if (options.secretFile === undefined) {
          print(isJson ? JSON.stringify({ secret }) : `New secret of the signatures: ${secret}`);
        }
        for await (const event of tail) {
          const result = await forwardWebhook({ workspaceId, url, secret }, event, ended.signal);
          last = event.id;
          print(isJson ? JSON.stringify(documentOf(event, result)) : lineOf(event, result, isColoured));
        }
      },
      await inCellOf(workspaceId),
    );
  } catch (error) {
    // Ctrl-C is how the command ends.
    if (!(error instanceof Interrupted)) throw error;
    if (last !== undefined && !isJson) print(`Continue with --after ${last}.`);
  } finally {
    ended.abort();
  }
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

/** The result for programs. */
const documentOf = ({ id, type }: Event, result: ForwardResult) => ({ eventID: id, type, ...result });

function lineOf({ id, type, createdAt, resource }: Event, result: ForwardResult, isColoured: boolean): string {
  const { status, error, durationMs } = result;
  const isDelivered = status !== undefined && status >= 200 && status < 300;
  const response = status === undefined ? `${error}` : String(status);
  return [
    isColoured ? styleText('dim', createdAt) : createdAt,
    String(id).padStart(6),
    type.padEnd(22),
    `${resource.type} ${resource.id}`.padEnd(18),
    isColoured ? styleText(isDelivered ? 'green' : 'red', response) : response,
    `${durationMs} ms`,
  ].join('  ');
}
