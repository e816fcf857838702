import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import {
  fixedFieldsChanged,
  listReferenceChanges,
  readReferenceContent,
  recordReference,
  type ReferenceChange,
  ReferenceChangeError,
  type ReferenceDifference,
  referenceDifferences,
  withdrawReference,
} from '@banking/operations';
import type { Database } from '@banking/postgres';
import { readReferenceDocument, type ReferenceDocument, writeReferenceDocument } from '@banking/reference';
import { withDeployment } from './deployment.js';
import { cellHead, onEachCell, rowsOf } from './each-cell.js';
import { actorOf, asOption, type ChangeOptions, examples, jsonOption, lookupArgument, operatorOf } from './inputs.js';
import { print, printJson, printTable, Refused } from './print.js';

export function addReferenceCommands(program: Command): void {
  const reference = program
    .command('reference')
    .summary('show and change corridors, products, purposes and SWIFT minimums')
    .description(
      'Manages the reference data of the deployment: corridors with their limits, fees and delivery times, products, purpose codes and ' +
        'SWIFT minimums. An operator states them in a document in YAML, whose form docs/reference-data.md describes. Each document is kept.',
    )
    .addHelpText(
      'after',
      examples(
        'banking reference show > reference.yaml',
        'banking reference apply reference.yaml --dry-run',
        'banking reference apply reference.yaml',
      ),
    );
  addApplyCommand(reference);
  addShowCommand(reference);
  addListCommand(reference);
  addWithdrawCommand(reference);
}

interface ApplyOptions extends ChangeOptions {
  readonly dryRun?: boolean;
  readonly withdraw?: boolean;
}

/** What a document changes in one database. */
interface Application {
  readonly differences: readonly ReferenceDifference[];
  /** Undefined if nothing was recorded. */
  readonly change?: number;
  readonly applied: boolean;
}

function addApplyCommand(reference: Command): void {
  reference
    .command('apply')
    .summary('apply a document of reference data')
    .description(
      'Prints what a document changes, and applies it: at once, or at its effectiveAt. A part that the document leaves out stays as it is. ' +
        'A corridor that its list leaves out is closed, and a product is not offered any more. With a mistake, nothing is applied.\n\n' +
        'Running services follow within two seconds. Quotes keep their price. Of several databases, each is changed, or that of CELL.',
    )
    .addArgument(lookupArgument('<file>', 'document in YAML or JSON'))
    .option('--dry-run', 'print the differences, and record nothing')
    .option('--withdraw', 'withdraw a document that waits for its time')
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('banking reference apply reference.yaml --dry-run', 'banking reference apply reference.yaml --as lena'),
    )
    .action(async (file: string, options: ApplyOptions) => {
      const document = readReferenceDocument(file, readText(file));
      const read = await onEachCell(({ database }) => applyTo(database, document, options), {
        changesNothing: options.dryRun === true,
      });
      if (options.json) {
        const rows = read.results.map(({ cell, result }) => ({ ...(cell !== undefined && { cell }), ...result }));
        printJson(rows.length === 1 ? rows[0] : rows);
      } else {
        for (const { cell, result } of read.results) {
          if (cell !== undefined) print(`Cell ${cell}`);
          printApplication(result, document, options);
        }
      }
      read.end();
    });
}

/** @throws Refused */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Refused(`The file cannot be read (${(error as NodeJS.ErrnoException).code}). Correct its path.`);
  }
}

/** @throws Refused */
async function applyTo(
  database: Database,
  { content, effectiveAt }: ReferenceDocument,
  options: ApplyOptions,
): Promise<Application> {
  const current = await readReferenceContent(database);
  const fixed = fixedFieldsChanged(current, content);
  if (fixed.length > 0) throw new Refused(fixed.join('\n'));
  const differences = referenceDifferences(current, content);
  if (options.dryRun === true || differences.length === 0) return { differences, applied: false };
  const { name: recordedBy, operatingSystemUser } = operatorOf(options);
  const stated = { content, origin: 'operator', effectiveAt, recordedBy, operatingSystemUser } as const;
  try {
    const { id, isApplied } = await recordReference(database, { ...stated, withdraws: options.withdraw });
    return { differences, change: id, applied: isApplied };
  } catch (error) {
    if (error instanceof ReferenceChangeError) throw new Refused(error.message);
    throw error;
  }
}

function printApplication(
  { differences, change, applied }: Application,
  { effectiveAt }: ReferenceDocument,
  { dryRun }: ApplyOptions,
): void {
  if (differences.length === 0) return print('The reference data is as the document states. Nothing was recorded.');
  printTable(
    ['Record', 'Field', 'Before', 'After'],
    differences.flatMap(({ subject, kind, fields }) =>
      kind === 'changed'
        ? fields.map(({ field, before = '', after = '' }, index) => [index === 0 ? subject : '', field, before, after])
        : [[subject, kind, '', '']],
    ),
    '',
  );
  const count = differences.length === 1 ? 'One record differs' : `${differences.length} records differ`;
  if (dryRun === true) return print(`\n${count}. Dry run: nothing was recorded.`);
  print(
    applied ? `\n${count}. Applied as change ${change}.` : `\n${count}. Change ${change} applies at ${effectiveAt}.`,
  );
}

function addShowCommand(reference: Command): void {
  reference
    .command('show')
    .summary('print the reference data as a document')
    .description('Prints the reference data that is in force, as a document that banking reference apply reads.')
    .addOption(jsonOption())
    .addHelpText('after', examples('banking reference show > reference.yaml'))
    .action(async ({ json }: { readonly json?: boolean }) => {
      const content = await withDeployment(({ database }) => readReferenceContent(database), { changesNothing: true });
      if (json) printJson(content);
      else print(writeReferenceDocument(content).trimEnd());
    });
}

const LISTED_MAX = 100;

function addListCommand(reference: Command): void {
  reference
    .command('list')
    .summary('list the documents that were recorded')
    .description(
      'Lists the documents of reference data, the latest first: when each applies, and who recorded it. At most 100.',
    )
    .addOption(jsonOption())
    .addHelpText('after', examples('banking reference list', 'banking reference list --json'))
    .action(async ({ json }: { readonly json?: boolean }) => {
      const read = await onEachCell(({ database }) => listReferenceChanges(database, LISTED_MAX), {
        changesNothing: true,
      });
      const list = rowsOf(read);
      if (json) printJson(list);
      else {
        printTable(
          [...cellHead(read), 'Change', 'By', 'Recorded', 'Effective', 'Status'],
          list.map(({ cell, ...change }) => [
            ...(cell === undefined ? [] : [cell]),
            ...[change.id, change.recordedBy, change.recordedAt, change.effectiveAt, statusOf(change)],
          ]),
          'No document was recorded.',
        );
      }
      read.end();
    });
}

const statusOf = ({ appliedAt, withdrawnAt }: ReferenceChange): string => {
  if (appliedAt !== null) return 'applied';
  return withdrawnAt === null ? 'waits' : 'withdrawn';
};

function addWithdrawCommand(reference: Command): void {
  reference
    .command('withdraw')
    .summary('withdraw the document that waits for its time')
    .description('Withdraws the document that is not effective yet. The reference data stays as it is.')
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking reference withdraw'))
    .action(async (options: ChangeOptions) => {
      const read = await onEachCell(({ database }) => withdrawReference(database, actorOf(options)));
      const withdrawn = read.results.flatMap(({ cell, result }) =>
        result === undefined ? [] : [{ ...(cell !== undefined && { cell }), change: result }],
      );
      if (options.json) printJson(withdrawn);
      else for (const { change } of withdrawn) print(`Withdrew change ${change}.`);
      read.end();
      if (withdrawn.length === 0) throw new Refused('No document waits. See banking reference list.');
    });
}
