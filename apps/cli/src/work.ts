import type { WorkspaceId } from '@banking/domain';
import { listDiscrepancies, listWork, retryParkedWork, retryWork, TRIES_MAX } from '@banking/payouts';
import { allWorkspaces } from '@banking/operations';
import type { Database } from '@banking/postgres';
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { withDeployment } from './deployment.js';
import { examples } from './help.js';
import { jsonOption, workspaceOption } from './inputs.js';
import { print, printJson, printTable } from './print.js';
import { Refused } from './refused.js';

interface ListOptions {
  readonly parked?: boolean;
  readonly json?: boolean;
}

interface RetryOptions {
  readonly workspace?: WorkspaceId;
  readonly all?: boolean;
  readonly kind?: string;
  readonly json?: boolean;
}

export function addWorkCommands(program: Command): void {
  const work = program
    .command('work')
    .summary('list what is due, and retry what is parked')
    .description(
      'Work: what is done later, such as payouts. What fails is tried again with growing delays; ' +
        `after ${TRIES_MAX} tries it is parked until it is released here. A database, a rate source or a queue that is unavailable ` +
        'only delays it.',
    )
    .addHelpText('after', examples('banking work list --parked', 'banking work retry payout 26 --workspace 1'));

  work
    .command('list')
    .summary('list what is in the queue')
    .description(
      'Lists what waits for an operator, discrepancies that are open and what is parked, then what is in the queue, ' +
        'the longest due first. At most 100 discrepancies and 100 pieces of work, parked ones first. A discrepancy is resolved with banking discrepancy resolve.',
    )
    .addOption(new Option('--parked', 'only what waits for an operator'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking work list --parked'))
    .action(async ({ parked, json }: ListOptions) => {
      const list = await withDeployment(
        async ({ database }) => [
          ...(await openDiscrepancies(database)),
          ...(await listWork(database, { isParked: parked === true })),
        ],
        { changesNothing: true },
      );
      if (json) return printJson(list);
      printTable(
        ['Workspace', 'Kind', 'Id', 'State', 'Tries', 'Delays', 'Due', 'Reason'],
        list.map(({ workspaceId, kind, subjectId, state, tries, delays, dueAt, reason }) => [
          ...[workspaceId, kind, subjectId, state, tries, delays],
          ...[dueAt, reason ?? ''],
        ]),
        parked ? 'Nothing is parked.' : 'Nothing is in the queue.',
      );
    });

  work
    .command('retry')
    .summary('release what is parked')
    .description(
      'Puts parked work back into the queue with all its tries: one piece, due now, or with --all everything that is parked, ' +
        'due at 100 pieces a second. A run of a paused order is parked again: see banking order resume.',
    )
    .addArgument(new Argument('[kind]', 'such as payout; see banking work list'))
    .addArgument(new Argument('[id]', 'of what it is about: for a payout, its transaction').argParser(parseSubject))
    .addOption(new Option('--all', 'everything that is parked'))
    .addOption(new Option('--kind <kind>', 'with --all: only work of this kind'))
    .addOption(workspaceOption('id of its workspace; with --all: only work of this workspace'))
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('banking work retry payout 26 --workspace 1', 'banking work retry --all --kind payout'),
    )
    .action(
      async (kind: string | undefined, subjectId: number | undefined, options: RetryOptions, command: Command) => {
        const { workspace: workspaceId, all, json } = options;
        if (all) {
          if (kind !== undefined) command.error("error: --all takes no id: name a kind with '--kind <kind>'");
          const filter = { workspaceId, kind: options.kind };
          const released = await withDeployment(({ database }) => retryParkedWork(database, filter));
          if (json) return printJson({ released });
          return print(released === 0 ? 'Nothing is parked.' : `Released ${released}: due at 100 pieces a second.`);
        }
        if (options.kind !== undefined) command.error("error: '--kind <kind>' goes with --all");
        if (kind === undefined || subjectId === undefined) command.error('error: name a kind and an id, or --all'); // prettier-ignore
        if (workspaceId === undefined) command.error("error: required option '--workspace <id>' not specified"); // prettier-ignore
        const ref = { workspaceId, kind, subjectId };
        const isReleased = await withDeployment(({ database }) => retryWork(database, ref));
        if (!isReleased) {
          throw new Refused(`No ${kind} ${subjectId} of workspace ${workspaceId} is parked. See banking work list.`);
        }
        if (json) printJson(ref);
        else print(`Released ${kind} ${subjectId} of workspace ${workspaceId}: it is due now.`);
      },
    );
}

/** The discrepancies that are open, as rows of the list. */
async function openDiscrepancies(database: Database) {
  const workspaces = await allWorkspaces(database);
  const open = await listDiscrepancies(database, workspaces.map(({ id }) => id)); // prettier-ignore
  return open.map(({ workspaceId, id: subjectId, kind, transactionId, openedAt }) => {
    const reason = `${kind}, transaction ${transactionId}`;
    return { workspaceId, kind: 'discrepancy', subjectId, state: 'open', tries: 0, delays: 0, dueAt: openedAt, reason };
  });
}

function parseSubject(text: string): number {
  if (!/^[1-9][0-9]{0,14}$/.test(text)) throw new InvalidArgumentError('Write an id as digits, such as 42.');
  return Number(text);
}
