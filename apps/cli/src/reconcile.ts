import {
  minorUnits,
  type WorkspaceId,
  type BankDifferenceKind,
  type MinorUnits,
  parseTransferAmount,
} from '@banking/domain';
import { listDiscrepancies, resolveDiscrepancy, type Resolution } from '@banking/payouts';
import { Argument, type Command, Option } from 'commander';
import { noteOperatorChanges } from '@banking/operations/provisioning';
import { readRails, readReconciledAccounts, reconcileStatements, type StatementComparison } from '@banking/rails';
import { withDeployment } from './deployment.js';
import { inCellOf, onEachCell, printRows } from './each-cell.js';
import {
  examples,
  jsonOption,
  type JsonOptions,
  nameOption,
  parseIdOf,
  refuseLongNote,
  workspaceOption,
} from './inputs.js';
import { type ApproveOptions, approveOption, bySecondOperator } from './operators.js';
import { print, printJson, printTable, Refused, shownAmount, shownMoney } from './print.js';
import { chosenWorkspaces } from './workspaces.js';
import { readConfig } from './config.js';

interface ListOptions {
  readonly workspace?: WorkspaceId;
  readonly all?: boolean;
  readonly json?: boolean;
}

interface ResolveOptions extends ApproveOptions {
  readonly workspace: WorkspaceId;
  readonly return?: boolean;
  readonly reclaim?: boolean;
  readonly dismiss?: boolean;
  readonly note?: string;
}

const OUTCOMES: Readonly<Record<Resolution, string>> = {
  returned: 'the money was returned to the customer',
  reclaimed: 'the money was taken from the account again',
  dismissed: 'no money was moved',
};

export function addDiscrepancyCommands(program: Command): void {
  const discrepancy = program
    .command('discrepancy')
    .summary('list and resolve contradictory final statuses')
    .description(
      'Manages discrepancies: a payout was credited and then rejected, rejected and then credited, or one event id arrived ' +
        'with two statuses. The first final status moved the money. Ask the network which status is correct.',
    )
    .addHelpText(
      'after',
      examples('banking discrepancy list', 'banking discrepancy resolve 1 --workspace 1 --return --note "ticket 4711"'),
    );

  discrepancy
    .command('list')
    .summary('list the open discrepancies')
    .description(
      'Lists the open discrepancies, the oldest first, with the events of their payouts. At most 100 of a database. Of several databases, all are listed, or the one of CELL.',
    )
    .addOption(workspaceOption('only this workspace'))
    .addOption(new Option('--all', 'include resolved discrepancies'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking discrepancy list', 'banking discrepancy list --all --json'))
    .action(async ({ workspace, all, json }: ListOptions) => {
      const read = await onEachCell(
        async ({ database }) => {
          const ids = (await chosenWorkspaces(database, workspace)).map(({ id }) => id);
          return listDiscrepancies(database, ids, { includesResolved: all === true });
        },
        { changesNothing: true, ...(await inCellOf(workspace)) },
      );
      printRows(read, json, {
        head: ['Id', 'Workspace', 'Transaction', 'Account', 'Amount', 'Kind', 'Opened', 'Events', 'Resolution'],
        cells: ({
          id,
          workspaceId,
          transactionId,
          accountId,
          amount,
          currencyCode,
          kind,
          openedAt,
          events,
          resolution,
        }) => [
          ...[id, workspaceId, transactionId, accountId],
          ...[shownMoney(amount, currencyCode), kind, openedAt],
          ...[
            events.map(({ status, reasonCode }) => `${status} ${reasonCode ?? ''}`.trim()).join(', '),
            resolution ?? '',
          ],
        ],
        none: all ? 'There are no discrepancies.' : 'There are no open discrepancies.',
      });
      read.end();
    });

  discrepancy
    .command('resolve')
    .summary('resolve a discrepancy')
    .description(
      'Resolves a discrepancy, once. A new, linked transaction moves the money. Booked transactions stay unchanged.\n\n' +
        '--return gives the money of a credited payout back to the customer, without the fee. --reclaim takes returned money ' +
        'from the account again, and fails if the balance is too low. --dismiss moves no money.',
    )
    .addArgument(new Argument('<id>', 'id of a discrepancy; see banking discrepancy list').argParser(parseIdOf<number>))
    .addOption(workspaceOption('id of its workspace').makeOptionMandatory())
    .addOption(new Option('--return', 'give the money back to the customer').conflicts(['reclaim', 'dismiss']))
    .addOption(new Option('--reclaim', 'take the returned money again').conflicts(['return', 'dismiss']))
    .addOption(new Option('--dismiss', 'close it without moving money; needs a note').conflicts(['return', 'reclaim']))
    .addOption(nameOption('--note <text>', 'reason, stored with the resolution'))
    .addOption(approveOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples(
        'banking discrepancy resolve 1 --workspace 1 --return',
        'banking discrepancy resolve 2 --workspace 1 --reclaim --note "the bank confirms the credit"',
        'banking discrepancy resolve 3 --workspace 1 --dismiss --note "sent by mistake"',
      ),
    )
    .action(async (discrepancyId: number, options: ResolveOptions) => {
      const { workspace: workspaceId, note, json } = options;
      const resolution = resolutionOf(options);
      const resolving = { workspaceId, discrepancyId, resolution, note };
      const action = { action: 'resolveDiscrepancy', arguments: resolving } as const;
      const outcome = await withDeployment(
        (deployment, config) =>
          bySecondOperator(deployment, config, options, action, ({ books }) =>
            resolveDiscrepancy(books, { ...resolving, noteChanges: noteOperatorChanges }),
          ),
        await inCellOf(workspaceId),
      );
      const name = `discrepancy ${discrepancyId} of workspace ${workspaceId}`;
      if (outcome === 'not_found') throw new Refused(`There is no ${name}. See banking discrepancy list.`);
      if (outcome === 'already_resolved')
        throw new Refused(`The ${name} is resolved already. See banking discrepancy list --all.`);
      if (outcome === 'not_applicable') {
        throw new Refused(
          `The ${name} cannot be ${resolution}: its kind or the place of its money does not allow it. See banking discrepancy resolve --help.`,
        );
      }
      const { transactionId } = outcome;
      if (json) return printJson({ workspaceId, id: discrepancyId, resolution, transactionId });
      const by = transactionId === undefined ? '' : `, by transaction ${transactionId}`;
      print(`Resolved ${name}: ${OUTCOMES[resolution]}${by}.`);
    });
}

function resolutionOf({ return: gives, reclaim, dismiss, note }: ResolveOptions): Resolution {
  if (note !== undefined) refuseLongNote(note);
  if (dismiss && note === undefined) throw new Refused('A dismissal needs a reason. Add --note <text>.');
  if (gives) return 'returned';
  if (reclaim) return 'reclaimed';
  if (dismiss) return 'dismissed';
  throw new Refused('The resolution is missing. Add --return, --reclaim or --dismiss.');
}

const DIFFERENCES: Readonly<Record<BankDifferenceKind, string>> = {
  statement_missing: 'the statement does not continue the one before it',
  statement_sum: 'the entries of the statement do not add up to its balances',
  statement_late: 'no statement followed this one',
  entry_unknown: 'the books do not have this entry',
  entry_pending: 'the bank announced this entry and has not booked it',
  entry_unlisted: 'no statement has this entry',
  payment_missing: 'no entry has this payment',
  payment_debited: 'the bank has debited a payment that the books have returned',
  payment_returned: 'the bank has returned a payment that the books have not',
};

export function addReconcileCommand(program: Command): void {
  program
    .command('reconcile')
    .summary('compare bank accounts with the books')
    .description(
      'Compares the statements of each bank account of RAILS_FILE whose files are read with the books, over the last 35 days: whether each ' +
        'statement continues the one before it, which entries the books do not have or contradict, and which payments have no entry. It compares now, ' +
        'and changes nothing. A worker does the same about once a minute, for administrators and metrics. See docs/books.md.\n\n' +
        'A bank account that no rail of files has any more is listed while it has differences. At most 1000 differences of a kind are listed ' +
        'for each account.\n\n' +
        'banking work reconcile is another comparison: after a restore, it asks the networks which payments they have.\n\n' +
        'Exit code 1 if an operator must decide a difference.',
    )
    .addOption(jsonOption())
    .addHelpText('after', examples('banking reconcile', 'banking reconcile --json'))
    .action(async ({ json }: JsonOptions) => {
      const comparisons = await compareAccounts();
      if (json) printJson(comparisons.map(shownInJson));
      else printComparisons(comparisons);
      const count = comparisons.reduce((sum, { differences }) => sum + differences.length, 0);
      if (count > 0) {
        const shown = orMore(
          count,
          comparisons.some(({ hasMore }) => hasMore),
        );
        throw new Refused(`An operator must decide ${count === 1 ? 'one difference' : `${shown} differences`}.`);
      }
    });
}

interface AccountComparison extends StatementComparison {
  /** Whether `RAILS_FILE` has the bank account. */
  readonly isConfigured: boolean;
}

async function compareAccounts(): Promise<readonly AccountComparison[]> {
  const { deployment, cell } = readConfig();
  const accounts = readRails(deployment).configured.flatMap((rail) =>
    rail.kind === 'iso20022'
      ? rail.accounts.map(({ id, currency }) => ({ rail: rail.name, bankAccount: id, currency }))
      : [],
  );
  // One of several databases has no bank account with files.
  if (accounts.length === 0 && deployment.cells !== undefined && cell === undefined) return [];
  const isConfigured = ({ bankAccount, currency }: Pick<StatementComparison, 'bankAccount' | 'currency'>) =>
    accounts.some((one) => one.bankAccount === bankAccount && one.currency === currency);
  return withDeployment(
    async ({ database }) => {
      const comparisons: AccountComparison[] = [];
      for (const account of accounts) {
        comparisons.push({ ...(await reconcileStatements(database, account)), isConfigured: true });
      }
      const others = (await readReconciledAccounts(database)).filter((account) => !isConfigured(account));
      for (const account of others) {
        const comparison = await reconcileStatements(database, account);
        if (comparison.differences.length > 0) comparisons.push({ ...comparison, isConfigured: false });
      }
      return comparisons;
    },
    { changesNothing: true },
  );
}

/** A count that stops where a list does. */
const orMore = (count: number, hasMore: boolean): number | string => (hasMore ? `${count} or more` : count);

/** Amounts in minor units, as text. */
const shownInJson = ({ openingBalance, closingBalance, unknownAmount, ...comparison }: StatementComparison) => ({
  ...comparison,
  ...(openingBalance !== undefined && { openingBalance: openingBalance.toString() }),
  ...(closingBalance !== undefined && { closingBalance: closingBalance.toString() }),
  unknownAmount: unknownAmount.toString(),
});

function printComparisons(comparisons: readonly AccountComparison[]): void {
  printTable(
    [
      ...['Rail', 'Account', 'Currency', 'Statements', 'From', 'To'],
      ...['Opening', 'Closing', 'Not in the books', 'Differences', ''],
    ],
    comparisons.map(
      ({ rail, bankAccount, currency, statements, from, to, differences, hasMore, isConfigured, ...amounts }) => [
        ...[rail, bankAccount, currency, statements, from ?? '', to ?? ''],
        ...[amounts.openingBalance, amounts.closingBalance, amounts.unknownAmount].map((amount) =>
          amount === undefined ? '' : shownAmount(minorUnits(amount), currency),
        ),
        ...[orMore(differences.length, hasMore), isConfigured ? '' : 'not configured'],
      ],
    ),
    'This deployment has no bank account with statements.',
  );
  const rows = comparisons.flatMap(({ rail, bankAccount, currency, differences }) =>
    differences.map(({ entryId, day, kind, amount, direction, reference }) => [
      ...[rail, bankAccount, day, DIFFERENCES[kind as BankDifferenceKind]],
      amount === undefined ? '' : shownIn(currency, parseTransferAmount(amount)),
      ...[direction ?? '', reference ?? '', entryId ?? ''],
    ]),
  );
  if (rows.length === 0) return;
  print('');
  printTable(['Rail', 'Account', 'Day', 'Difference', 'Amount', 'Direction', 'Reference', 'Entry'], rows, '');
}

const shownIn = (currency: string, amount: MinorUnits): string => `${shownAmount(amount, currency)} ${currency}`;
