import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import {
  applyDueReference,
  listReferenceChanges,
  readReferenceInForce,
  recordReference,
  type ReferenceChange,
  ReferenceChangeError,
  type ReferenceDifference,
  referenceDifferences,
  type StatedChange,
  tryReference,
  withdrawReference,
} from '@banking/operations';
import type { Database } from '@banking/postgres';
import { readReferenceDocument, type ReferenceDocument, writeReferenceDocument } from '@banking/reference';
import { readConfig } from './config.js';
import { withDeployment } from './deployment.js';
import { onEachCell, printRows } from './each-cell.js';
import { examples, type JsonOptions, jsonOption, lookupArgument } from './inputs.js';
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

interface ApplyOptions extends JsonOptions {
  readonly dryRun?: boolean;
  readonly withdraw?: boolean;
}

/** What a document changes in one database. */
interface Application {
  readonly differences: readonly ReferenceDifference[];
  /** Undefined if nothing was recorded. */
  readonly change?: number;
  readonly withdrawn?: number;
  /** A document that waits for its time, and stays. */
  readonly waiting?: number;
  readonly applied: boolean;
}

function addApplyCommand(reference: Command): void {
  reference
    .command('apply')
    .summary('apply a document of reference data')
    .description(
      'Prints what a document changes, and applies it: at once, or at its effectiveAt. A part that the document leaves out stays as it is. ' +
        'A corridor that its list leaves out is closed, and a product is not offered any more. With a mistake, nothing is applied.\n\n' +
        'Running services follow within two seconds. Quotes keep their price. Of several databases, each is changed, or that of CELL. If one ' +
        'of them is away or refuses the document, none is changed.',
    )
    .addArgument(lookupArgument('<file>', 'document in YAML or JSON, in UTF-8'))
    .option('--dry-run', 'print the differences, and record nothing')
    .option('--withdraw', 'withdraw a document that waits for its time')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('banking reference apply reference.yaml --dry-run', 'banking reference apply reference.yaml'),
    )
    .action(async (file: string, options: ApplyOptions) => {
      const document = readReferenceDocument(file, readText(file));
      const { cell: chosen, deployment } = readConfig();
      const isOfSeveral = deployment.cells !== undefined && chosen === undefined;
      if (isOfSeveral || options.dryRun === true) await refuseIfRefused(document, options);
      const work = options.dryRun === true ? differencesIn : applyTo;
      const read = await onEachCell(({ database }) => work(database, document, options), {
        changesNothing: options.dryRun === true,
      });
      if (options.json) {
        const rows = read.results.map(({ cell, result }) => ({ ...(cell !== undefined && { cell }), ...result }));
        printJson(isOfSeveral ? rows : rows[0]);
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
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Refused(
      code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
        ? 'The file is not UTF-8. Save it in UTF-8.'
        : `The file cannot be read (${code}). Correct its path.`,
    );
  }
}

const changeOf = ({ content, effectiveAt }: ReferenceDocument, options: ApplyOptions): StatedChange => {
  return { content, origin: 'operator', effectiveAt, withdraws: options.withdraw };
};

/** Tries the document in each database, and changes none. @throws Refused if one is away or refuses it */
async function refuseIfRefused(document: ReferenceDocument, options: ApplyOptions): Promise<void> {
  const tried = await onEachCell(({ database }) => refusalIn(database, document, options), {
    changesNothing: options.dryRun === true,
  });
  tried.end();
  const refusals = tried.results.flatMap(({ cell, result }) =>
    result === undefined ? [] : [cell === undefined ? result : `Cell ${cell}: ${result}`],
  );
  if (refusals.length > 0) throw new Refused(refusals.join('\n'));
}

async function refusalIn(
  database: Database,
  document: ReferenceDocument,
  options: ApplyOptions,
): Promise<string | undefined> {
  const inForce = await readReferenceInForce(database);
  // What changes nothing is not recorded.
  if (referenceDifferences(inForce.content, document.content).length === 0) return undefined;
  try {
    await tryReference(database, changeOf(document, options));
    return undefined;
  } catch (error) {
    if (error instanceof ReferenceChangeError) return error.message;
    throw error;
  }
}

async function differencesIn(database: Database, { content }: ReferenceDocument): Promise<Application> {
  const inForce = await readReferenceInForce(database);
  return { differences: referenceDifferences(inForce.content, content), applied: false };
}

/** @throws Refused */
async function applyTo(database: Database, document: ReferenceDocument, options: ApplyOptions): Promise<Application> {
  await applyDueReference(database);
  const refusal = await refusalIn(database, document, options);
  if (refusal !== undefined) throw new Refused(refusal);
  const { differences } = await differencesIn(database, document);
  if (differences.length === 0) {
    const withdrawn = options.withdraw === true ? await withdrawReference(database) : undefined;
    const changes = await listReferenceChanges(database, LISTED_MAX);
    const waiting = changes.find(({ status }) => status === 'waits')?.id;
    return {
      differences,
      applied: false,
      ...(withdrawn !== undefined && { withdrawn }),
      ...(waiting !== undefined && { waiting }),
    };
  }
  const { id, isApplied } = await recordReference(database, changeOf(document, options));
  return { differences, change: id, applied: isApplied };
}

function printApplication(
  { differences, change, applied, withdrawn, waiting }: Application,
  { effectiveAt }: ReferenceDocument,
  { dryRun }: ApplyOptions,
): void {
  if (differences.length === 0) {
    print('The reference data is as the document states. Nothing was recorded.');
    if (withdrawn !== undefined) print(`Withdrew change ${withdrawn}.`);
    if (waiting !== undefined) print(`Change ${waiting} waits for its time. banking reference withdraw withdraws it.`);
    return;
  }
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
    .description(
      'Prints the reference data that is in force, as a document that banking reference apply reads. Of several databases, that of home or of CELL.',
    )
    .addOption(jsonOption())
    .addHelpText('after', examples('banking reference show > reference.yaml'))
    .action(async ({ json }: { readonly json?: boolean }) => {
      const { content } = await withDeployment(({ database }) => readReferenceInForce(database), {
        changesNothing: true,
      });
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
      printRows(read, json, {
        head: ['Change', 'By', 'Recorded', 'Effective', 'Status'],
        cells: (change) => [...[change.id, change.recordedBy, change.recordedAt, change.effectiveAt, statusOf(change)]],
        none: 'No document was recorded.',
      });
      read.end();
    });
}

const statusOf = ({ status, withdrawnBy }: ReferenceChange): string =>
  withdrawnBy === null ? status : `${status}: ${withdrawnBy}`;

function addWithdrawCommand(reference: Command): void {
  reference
    .command('withdraw')
    .summary('withdraw the document that waits for its time')
    .description('Withdraws the document that is not effective yet. The reference data stays as it is.')
    .addOption(jsonOption())
    .addHelpText('after', examples('banking reference withdraw'))
    .action(async (options: JsonOptions) => {
      const read = await onEachCell(({ database }) => withdrawReference(database));
      const withdrawn = read.results.flatMap(({ cell, result }) =>
        result === undefined ? [] : [{ ...(cell !== undefined && { cell }), change: result }],
      );
      if (options.json) printJson(withdrawn);
      else for (const { change } of withdrawn) print(`Withdrew change ${change}.`);
      read.end();
      if (withdrawn.length === 0) throw new Refused('No document waits. See banking reference list.');
    });
}
