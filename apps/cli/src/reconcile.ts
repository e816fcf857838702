import { type BankDifferenceKind, type MinorUnits, minorUnits, parseTransferAmount } from '@banking/domain';
import { readRails, reconcileStatements, type StatementComparison } from '@banking/rails';
import type { Command } from 'commander';
import { readConfig } from './config.js';
import { withDeployment } from './deployment.js';
import { examples, jsonOption } from './inputs.js';
import { print, printJson, printTable, Refused, shownAmount } from './print.js';

interface JsonOption {
  readonly json?: boolean;
}

const DIFFERENCES: Readonly<Record<BankDifferenceKind, string>> = {
  statement_missing: 'the statement does not continue the one before it',
  statement_sum: 'the entries of the statement do not add up to its balances',
  statement_late: 'no statement followed this one',
  entry_unknown: 'the books do not have this entry',
  entry_pending: 'the bank announced this entry and has not booked it',
  entry_unlisted: 'no statement has this entry',
  payment_missing: 'no entry has this payment',
};

export function addReconcileCommand(program: Command): void {
  program
    .command('reconcile')
    .summary('compare bank accounts with the books')
    .description(
      'Compares the statements of each bank account of RAILS_FILE whose files are read with the books, over the last 35 days: whether each ' +
        'statement continues the one before it, which entries the books do not have, and which payments have no entry. It compares now, ' +
        'and changes nothing. A worker does the same about once a minute, for administrators and metrics. See docs/books.md.\n\n' +
        'banking work reconcile is another comparison: after a restore, it asks the networks which payments they have.\n\n' +
        'Exit code 1 if an operator must decide a difference.',
    )
    .addOption(jsonOption())
    .addHelpText('after', examples('banking reconcile', 'banking reconcile --json'))
    .action(async ({ json }: JsonOption) => {
      const comparisons = await compareAccounts();
      if (json) printJson(comparisons.map(shownInJson));
      else printComparisons(comparisons);
      const count = comparisons.reduce((sum, { differences }) => sum + differences.length, 0);
      if (count > 0) {
        throw new Refused(`An operator must decide ${count === 1 ? 'one difference' : `${count} differences`}.`);
      }
    });
}

async function compareAccounts(): Promise<readonly StatementComparison[]> {
  const accounts = readRails(readConfig().deployment).configured.flatMap((rail) =>
    rail.kind === 'iso20022'
      ? rail.accounts.map(({ id, currency }) => ({ rail: rail.name, bankAccount: id, currency }))
      : [],
  );
  if (accounts.length === 0) return [];
  return withDeployment(
    async ({ database }) => {
      const comparisons: StatementComparison[] = [];
      for (const account of accounts) comparisons.push(await reconcileStatements(database, account));
      return comparisons;
    },
    { changesNothing: true },
  );
}

/** Amounts in minor units, as text. */
const shownInJson = ({ openingBalance, closingBalance, unknownAmount, ...comparison }: StatementComparison) => ({
  ...comparison,
  ...(openingBalance !== undefined && { openingBalance: openingBalance.toString() }),
  ...(closingBalance !== undefined && { closingBalance: closingBalance.toString() }),
  unknownAmount: unknownAmount.toString(),
});

function printComparisons(comparisons: readonly StatementComparison[]): void {
  printTable(
    [
      ...['Rail', 'Account', 'Currency', 'Statements', 'From', 'To'],
      ...['Opening', 'Closing', 'Not in the books', 'Differences'],
    ],
    comparisons.map(({ rail, bankAccount, currency, statements, from, to, differences, ...amounts }) => [
      ...[rail, bankAccount, currency, statements, from ?? '', to ?? ''],
      ...[amounts.openingBalance, amounts.closingBalance, amounts.unknownAmount].map((amount) =>
        amount === undefined ? '' : shownAmount(minorUnits(amount), currency),
      ),
      differences.length,
    ]),
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
