import { styleText } from 'node:util';
import { EVENT_TYPES, type Event, type EventId, type EventType, type WorkspaceId } from '@banking/domain';
import { tailEvents } from '@banking/operations/provisioning';
import { type Command, Option } from 'commander';
import { Interrupted, withDeployment } from './deployment.js';
import { inCellOf } from './each-cell.js';
import { examples, parseIdOf, workspaceOption } from './inputs.js';
import { print } from './print.js';

interface TailOptions {
  readonly workspace: WorkspaceId;
  readonly type?: readonly EventType[];
  readonly after?: EventId;
  readonly json?: boolean;
}

/** Which events a command follows. */
export const typeOption = () =>
  new Option('--type <type...>', 'only events of these types').choices(EVENT_TYPES.map(({ type }) => type));

/** Where a command that follows events begins. */
export const afterOption = () =>
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
    .action(async ({ workspace: workspaceId, type: types, after, json }: TailOptions) => {
      const ended = new AbortController();
      const isColoured = process.stdout.isTTY && process.stdout.hasColors();
      const lineOf =
        json === true ? (event: Event) => JSON.stringify(event) : (event: Event) => shown(event, isColoured);
      try {
        await withDeployment(
          async ({ database }) => {
            const tail = tailEvents(database, { workspaceId, after, types, signal: ended.signal });
            for await (const event of tail) print(lineOf(event));
          },
          await inCellOf(workspaceId),
        );
      } catch (error) {
        // Ctrl-C is how the command ends.
        if (!(error instanceof Interrupted)) throw error;
      } finally {
        ended.abort();
      }
    });
}

const GOOD = /\.(completed|opened|enabled|resumed|released)$/;
const BAD = /\.(failed|returned|parked|paused|disabled)$/;

function shown({ id, type, createdAt, resource, changes, actor }: Event, isColoured: boolean): string {
  const { status } = changes;
  const steps = status && `${status.before ?? 'new'} → ${status.after}`;
  const by = actor.id === undefined ? actor.type : `${actor.type} ${actor.id}`;
  const colour = GOOD.test(type) ? 'green' : BAD.test(type) ? 'red' : 'cyan';
  const name = type.padEnd(22);
  return [
    isColoured ? styleText('dim', createdAt) : createdAt,
    String(id).padStart(6),
    isColoured ? styleText(colour, name) : name,
    `${resource.type} ${resource.id}`.padEnd(18),
    ...(steps === undefined ? [] : [steps]),
    `by ${by}`,
  ].join('  ');
}
