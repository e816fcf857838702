import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import type { Deployment } from '@banking/deployment';
import { type WorkspaceId, type OrderId } from '@banking/domain';
import {
  allWorkspaces,
  noteOperatorChanges,
  workspacesHere,
  placerAfter,
  resumePausedOrder,
  WORK_KINDS,
} from '@banking/operations/provisioning';
import {
  listDiscrepancies,
  PAYOUT,
  type PaymentDifferenceKind,
  readPayoutStop,
  reconcilePayouts,
  type Reconciliation,
  releaseAllParkedWork,
  releaseParkedWork,
} from '@banking/payouts';
import type { Database } from '@banking/postgres';
import { listWork, type QueuedWork, TRIES_MAX } from '@banking/work-queue';
import { readRails } from '@banking/rails';
import { readConfig } from './config.js';
import { withDeployment } from './deployment.js';
import { inCellOf, onEachCell, printRows } from './each-cell.js';
import { examples, type JsonOptions, jsonOption, workspaceOption, nameOption, parseIdOf } from './inputs.js';
import { type ApproveOptions, approveOption, bySecondOperator } from './operators.js';
import { print, printJson, printTable, Refused, shownMoney } from './print.js';

interface ListOptions {
  readonly parked?: boolean;
  readonly json?: boolean;
}

interface RetryOptions extends ApproveOptions {
  readonly workspace?: WorkspaceId;
  readonly all?: boolean;
  readonly kind?: string;
  readonly submitAgain?: boolean;
}

export function addWorkCommands(program: Command): void {
  const work = program
    .command('work')
    .summary('list the queue, retry parked work, and reconcile payouts')
    .description(
      'Manages the work queue, such as payouts that are due. Failed work is retried with growing delays and parked after ' +
        `${TRIES_MAX} tries. banking work retry releases it. An unavailable database, rate source or queue causes a delay and ` +
        'counts as no try.',
    )
    .addHelpText('after', examples('banking work list --parked', 'banking work retry payout 26 --workspace 1'));

  work
    .command('list')
    .summary('list the queue')
    .description(
      'Lists a stop of payouts, then open discrepancies, then parked work, then due work, the longest due first. At most 100 ' +
        'discrepancies and 100 pieces of work. Of several databases, all are listed, or the one of CELL.\n\nbanking payouts resume ends a stop; banking discrepancy resolve resolves a ' +
        'discrepancy; banking work retry releases parked work.',
    )
    .addOption(new Option('--parked', 'only a stop of payouts, open discrepancies and parked work'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking work list --parked'))
    .action(async ({ parked, json }: ListOptions) => {
      const { names } = readRails(readConfig().deployment);
      const read = await onEachCell(({ database }) => listAll(database, parked === true, names), {
        changesNothing: true,
      });
      printRows(read, json, {
        head: ['Workspace', 'Kind', 'Id', 'State', 'Tries', 'Delays', 'Due', 'Reason'],
        cells: ({ workspaceId, kind, subjectId, state, tries, delays, dueAt, reason }) => [
          ...[workspaceId ?? '', kind, subjectId, state, tries, delays],
          ...[dueAt, reason ?? ''],
        ],
        none: parked ? 'No work is parked.' : 'The queue is empty.',
      });
      read.end();
    });

  work
    .command('retry')
    .summary('release parked work')
    .description(
      'Puts parked work back into the queue, with no tries counted. One piece is due now. With --all, all parked work is ' +
        'released, at 100 pieces a second. The run of a paused order is parked again; see banking order resume.',
    )
    .addArgument(new Argument('[kind]', 'kind of the work, such as payout; see banking work list'))
    .addArgument(
      new Argument('[id]', 'id of its subject; for a payout, the id of its transaction').argParser(parseSubject),
    )
    .addOption(new Option('--all', 'all parked work'))
    .addOption(
      new Option(
        '--submit-again',
        'of a payout that the network had accepted and lost: the bank has said that it does not have the payment',
      ).conflicts('all'),
    )
    .addOption(new Option('--kind <kind>', 'with --all: only work of this kind').choices(WORK_KINDS))
    .addOption(workspaceOption('id of its workspace; with --all: only work of this workspace'))
    .addOption(approveOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('banking work retry payout 26 --workspace 1', 'banking work retry --all --kind payout'),
    )
    .action(
      async (kind: string | undefined, subjectId: number | undefined, options: RetryOptions, command: Command) => {
        const { workspace: workspaceId, all, json } = options;
        if (all) {
          if (kind !== undefined)
            command.error("error: option '--all' takes no arguments. To release one kind, add '--kind <kind>'");
          const filter = { workspaceId, kind: options.kind };
          const use = await inCellOf(workspaceId);
          const read = await onEachCell(
            ({ database }) => releaseAllParkedWork(database, filter, noteOperatorChanges),
            use,
          );
          const released = read.results.reduce((sum, { result }) => sum + result, 0);
          if (json) printJson({ released });
          else print(released === 0 ? 'No work is parked.' : `Released ${released} pieces of work, at 100 a second.`);
          return read.end();
        }
        if (options.kind !== undefined) command.error("error: option '--kind <kind>' requires '--all'");
        if (kind === undefined || subjectId === undefined)
          command.error('error: arguments kind and id, or --all, are missing');
        if (workspaceId === undefined) command.error("error: required option '--workspace <id>' not specified");
        const ref = { workspaceId, kind, subjectId };
        const use = await inCellOf(workspaceId);
        const isReleased = await withDeployment((deployment, config) => {
          const release = ({ database }: Deployment) =>
            releaseParkedWork(database, ref, noteOperatorChanges, options.submitAgain);
          if (options.submitAgain !== true || kind !== PAYOUT) return release(deployment);
          const given = { workspaceId, transactionId: subjectId };
          const action = { action: 'submitPayoutAgain', arguments: given } as const;
          return bySecondOperator(deployment, config, options, action, release);
        }, use);
        if (!isReleased) {
          throw new Refused(
            `The ${kind} ${subjectId} of workspace ${workspaceId} is not parked. See banking work list.`,
          );
        }
        if (json) printJson(ref);
        else print(`Released ${kind} ${subjectId} of workspace ${workspaceId}, due now.`);
      },
    );

  addReconcileCommand(work);
}

/** A row of the list. A stop of payouts may be about no workspace of the database. */
type Row = Omit<QueuedWork, 'state' | 'workspaceId'> & { readonly state: string; readonly workspaceId?: number };

/** At most 100 discrepancies and 100 pieces of work of a database. */
const listAll = async (database: Database, isParked: boolean, rails: readonly string[]): Promise<readonly Row[]> => [
  ...(await payoutStop(database)),
  ...(await openDiscrepancies(database)),
  ...(await listWork(database, { isParked })).map((row) => withoutNetwork(row, rails)),
];

/** A payout whose payment network is not configured has that as its reason. */
function withoutNetwork(row: QueuedWork, rails: readonly string[]): QueuedWork {
  const { rail, state } = row;
  if (rail === undefined || rails.includes(rail) || state === 'parked') return row;
  return { ...row, reason: `the rail ${rail} is not configured: add it to RAILS_FILE, or see banking payout return` };
}

/** The open stop of payouts as rows of the list, one for each workspace with a finding, or one without a workspace. */
async function payoutStop(database: Database): Promise<readonly Row[]> {
  const stop = await readPayoutStop(database);
  if (!stop) return [];
  const { id: subjectId, stoppedAt: dueAt, findings, workspaceIds } = stop;
  const reason = `a verification of the books had ${findings === 1 ? 'one finding' : `${findings} findings`}`;
  const row = { kind: 'payout stop', subjectId, state: 'open', tries: 0, delays: 0, dueAt, reason };
  return workspaceIds.length === 0 ? [row] : workspaceIds.map((workspaceId) => ({ workspaceId, ...row }));
}

async function openDiscrepancies(database: Database) {
  const workspaces = await workspacesHere(database);
  const open = await listDiscrepancies(
    database,
    workspaces.map(({ id }) => id),
  );
  return open.map(({ workspaceId, id: subjectId, kind, transactionId, openedAt }) => {
    const reason = `${kind}, transaction ${transactionId}`;
    return { workspaceId, kind: 'discrepancy', subjectId, state: 'open', tries: 0, delays: 0, dueAt: openedAt, reason };
  });
}

function parseSubject(text: string): number {
  if (!/^[1-9][0-9]{0,14}$/.test(text)) throw new InvalidArgumentError('Write an id as digits, such as 42.');
  return Number(text);
}

interface ReconcileOptions extends JsonOptions {
  readonly since?: string;
  readonly apply?: boolean;
}

const DIFFERENCES: Readonly<Record<PaymentDifferenceKind, string>> = {
  payment_not_in_books: 'the books have no such payout',
  payment_not_at_network: 'the network no longer has it',
  content_differs: 'the books have another amount or currency',
  carried_elsewhere: 'in the books another network carries it',
  event_not_recorded: 'the account cannot hold the returned money',
};
function addReconcileCommand(work: Command): void {
  work
    .command('reconcile')
    .summary('compare payouts with the network after a restore')
    .description(
      'Compares the payouts of the books with the payments of the network, by key. Run it after a restore or a promotion, ' +
        'before the service and the workers start. It may run beside them, and again.\n\n' +
        'Changes nothing without --apply. With --apply, it records what the network reports of payouts that the books have, and ' +
        'the network is asked before an open payout is submitted or its money returns. A payment that the books do not have is listed, never ' +
        'booked, and due work of its workspace that may have made it is parked.\n\nExit code 1 if an operator must decide a difference, also with --apply, and if a network did not serve.',
    )
    .addOption(
      new Option(
        '--since <time>',
        'compare payments that the network accepted since this time, such as 2026-11-21T04:00:00Z (seven days before the ' +
          'last transaction of the books)',
      ).argParser(parseTime),
    )
    .addOption(new Option('--apply', 'record what the network reports, and park work that could pay twice'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking work reconcile', 'banking work reconcile --apply --json'))
    .action(async (options: ReconcileOptions) => {
      const result = await reconcile(options);
      if (options.json) printJson(result);
      else printResult(result);
      const { unreachable } = result;
      if (unreachable.length > 0) {
        throw new Refused(`Not all was compared: ${unreachable.join(', ')} did not serve. Run the command again.`);
      }
      const { length } = result.differences;
      if (length > 0)
        throw new Refused(`An operator must decide ${length === 1 ? 'one difference' : `${length} differences`}.`);
    });
}

function reconcile(options: ReconcileOptions): Promise<Reconciliation> {
  const { since, apply: isApplied = false } = options;
  return withDeployment(
    async ({ database, books }, { deployment }) => {
      const rails = readRails(deployment, 'payouts');
      if (rails.names.length === 0)
        throw new Refused('This deployment has no payment network. There is nothing to compare.');
      const workspaceIds = (await allWorkspaces(database)).map(({ id }) => id);
      return reconcilePayouts({
        books,
        rails: rails.open(database),
        workspaceIds,
        since,
        isApplied,
        noteChanges: noteOperatorChanges,
      });
    },
    { changesNothing: true, readsBooks: true },
  );
}

function printResult({
  since,
  isApplied,
  lagging,
  differences,
  heldWork,
  unreachable,
  ...counts
}: Reconciliation): void {
  printTable(
    ['Compared', 'Count'],
    [
      [`payments of the network since ${since}`, counts.payments],
      ['payments of other services among them', counts.foreignPayments],
      ['open payouts', counts.openPayouts],
      ['open payouts that the network does not have: a worker submits them', counts.unsubmitted],
      ['open payouts that the network does not have: they wait for an approval', counts.unapproved],
      ['open payouts whose network is not configured, which are not compared', counts.withoutNetwork],
      ['networks that did not serve', unreachable.length],
      [`payouts with events that the books ${isApplied ? 'did not have' : 'do not have'}`, lagging.length],
      ['differences for an operator', differences.length],
      [`due work that may have made a missing payment${isApplied ? ': parked now' : ''}`, heldWork.length],
    ],
    '',
  );
  if (lagging.length > 0) {
    print('');
    printTable(
      ['Workspace', 'Payout', 'In the books', isApplied ? 'Recorded events' : 'New events'],
      lagging.map(({ workspaceId, transactionId, status, newEvents }) => [
        ...[workspaceId, transactionId, status],
        newEvents.join(', '),
      ]),
      '',
    );
  }
  if (differences.length > 0) {
    print('');
    printTable(
      ['Rail', 'Workspace', 'Payout', 'Amount', 'Difference', 'Accepted', 'Status', 'Key'],
      differences.map(({ rail, workspaceId, transactionId, amount, currency, kind, acceptedAt, status, key }) => [
        ...[rail, workspaceId, transactionId, shownMoney(amount, currency)],
        ...[DIFFERENCES[kind], acceptedAt ?? '', status ?? '', key],
      ]),
      '',
    );
  }
  if (heldWork.length > 0) {
    print('');
    printTable(
      ['Workspace', 'Work', 'Id'],
      heldWork.map(({ workspaceId, kind, subjectId }) => [workspaceId, kind, subjectId]),
      '',
    );
  }
  if (!isApplied && lagging.length + heldWork.length > 0) print('\nNothing was changed. Add --apply.');
}

function parseTime(text: string): string {
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text);
  if (!isTime || Number.isNaN(Date.parse(text)))
    throw new InvalidArgumentError('Write a time with its offset, such as 2026-11-21T04:00:00Z.');
  return text;
}

interface ResumeOptions extends ApproveOptions {
  readonly workspace: WorkspaceId;
  readonly placer?: string;
}

export function addOrderCommands(program: Command): void {
  const order = program
    .command('order')
    .summary('resume paused orders')
    .description(
      'Manages paused orders. An order is paused if the user who placed it has no role in the workspace. A recurring order is ' +
        'also paused after three rejected payouts in a row, because each costs a fee. The next run is parked; see banking work list --parked.',
    )
    .addHelpText('after', examples('banking order resume 12 --workspace 1'));

  order
    .command('resume')
    .summary('resume a paused order')
    .description(
      'Resumes a paused order. Its missed runs are made up by one run, now. The count of rejected payouts begins again. ' +
        'The order runs for the user who placed it, or for the user of --placer, who needs a role in the workspace. ' +
        'The customer can cancel the order instead.',
    )
    .addArgument(new Argument('<id>', 'id of an order').argParser(parseIdOf<OrderId>))
    .addOption(workspaceOption('id of its workspace').makeOptionMandatory())
    .addOption(nameOption('--placer <email>', 'user with a role in the workspace who becomes the placer'))
    .addOption(approveOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples(
        'banking order resume 12 --workspace 1',
        'banking order resume 12 --workspace 1 --placer mia@harbour.example',
      ),
    )
    .action(async (orderId: OrderId, options: ResumeOptions) => {
      const { workspace: workspaceId, placer, json } = options;
      await withDeployment(
        async (deployment, config) => {
          const order = { workspaceId, orderId, placer };
          const given = { workspaceId, orderId, placer: await placerAfter(deployment.database, order) };
          const action = { action: 'resumeOrder', arguments: given } as const;
          await bySecondOperator(deployment, config, options, action, ({ database }) =>
            resumePausedOrder(database, order),
          );
        },
        await inCellOf(workspaceId),
      );
      if (json) printJson({ workspaceId, id: orderId });
      else print(`Resumed order ${orderId} of workspace ${workspaceId}. Its next run is due now.`);
    });
}
