import { minorUnits } from '@banking/domain';
import { type PaymentDifferenceKind, type Reconciliation, reconcilePayouts, SandboxRail } from '@banking/payouts';
import { allWorkspaces, notesOf } from '@banking/operations/provisioning';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { withDeployment } from './deployment.js';
import { examples } from './help.js';
import { asOption, type ChangeOptions, jsonOption, operatorOf } from './inputs.js';
import { print, printJson, printTable } from './print.js';
import { Refused } from './refused.js';
import { shownAmount } from './shown-amount.js';

interface ReconcileOptions extends ChangeOptions {
  readonly since?: string;
  readonly apply?: boolean;
}

const DIFFERENCES: Readonly<Record<PaymentDifferenceKind, string>> = {
  payment_not_in_books: 'the books have no such payout',
  payment_not_at_network: 'the network no longer has it',
  content_differs: 'the books have another amount or currency',
  event_not_recorded: 'the account cannot hold the returned money',
};
/** Adds `banking work reconcile`. */
export function addReconcileCommand(work: Command): void {
  work
    .command('reconcile')
    .summary('compare payouts with the network after a restore')
    .description(
      'Compares the payouts of the books with the payments of the network, by key. Run it after a restore or a promotion, ' +
        'before the service and the workers start. It may run beside them, and again.\n\n' +
        'Changes nothing without --apply. With --apply, it records what the network reports of payouts that the books have, and ' +
        'the next try of each open payout asks the network first. A payment that the books do not have is listed, never ' +
        'booked, and due work of its workspace that may have made it is parked.\n\nExit code 1 if an operator must decide a difference, also with --apply.',
    )
    .addOption(
      new Option(
        '--since <time>',
        'compare payments that the network accepted since this time, such as 2026-11-21T04:00:00Z (seven days before the ' +
          'last transaction of the books)',
      ).argParser(parseTime),
    )
    .addOption(new Option('--apply', 'record what the network reports, and park work that could pay twice'))
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking work reconcile', 'banking work reconcile --apply --json'))
    .action(async (options: ReconcileOptions) => {
      const result = await reconcile(options);
      if (options.json) printJson(result);
      else printResult(result);
      const { length } = result.differences;
      if (length > 0)
        throw new Refused(`An operator must decide ${length === 1 ? 'one difference' : `${length} differences`}.`);
    });
}

function reconcile(options: ReconcileOptions): Promise<Reconciliation> {
  const { since, apply: isApplied = false } = options;
  const noteChanges = notesOf(operatorOf(options));
  return withDeployment(
    async ({ database, books }, { deployment }) => {
      if (!deployment.isSandbox)
        throw new Refused('This deployment has no payment network. There is nothing to compare.');
      const workspaceIds = (await allWorkspaces(database)).map(({ id }) => id);
      return reconcilePayouts({ books, rail: new SandboxRail(database), workspaceIds, since, isApplied, noteChanges });
    },
    { changesNothing: true, readsBooks: true },
  );
}

function printResult({ since, isApplied, lagging, differences, heldWork, ...counts }: Reconciliation): void {
  printTable(
    ['Compared', 'Count'],
    [
      [`payments of the network since ${since}`, counts.payments],
      ['payments of other services among them', counts.foreignPayments],
      ['open payouts', counts.openPayouts],
      ['open payouts that the network does not have: a worker submits them', counts.unsubmitted],
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
      ['Workspace', 'Payout', 'Amount', 'Difference', 'Accepted', 'Status', 'Key'],
      differences.map(({ workspaceId, transactionId, amount, currency, kind, acceptedAt, status, key }) => [
        ...[workspaceId, transactionId, `${shownAmount(minorUnits(BigInt(amount)), currency)} ${currency}`],
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
