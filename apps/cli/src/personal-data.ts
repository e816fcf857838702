import { type Command, Option } from 'commander';
import type { WorkspaceId } from '@banking/domain';
import {
  type ErasedRows,
  erasePersonalData,
  findPerson,
  notePersonalDataExport,
  type PersonalDataSubject,
  personalDataPages,
  type ReasonToKeep,
  requestsNaming,
} from '@banking/operations/provisioning';
import type { Database } from '@banking/postgres';
import { HOME_CELL } from '@banking/process';
import { withDeployment } from './deployment.js';
import { inCellOf, onEachCell } from './each-cell.js';
import {
  examples,
  jsonOption,
  type JsonOptions,
  lookupOption,
  osUserName,
  parseIdOf,
  workspaceOption,
} from './inputs.js';
import { createFile, print, printJson, Refused, reportProgress, toStandardOutput, unlessPipeClosed } from './print.js';

interface SubjectOptions extends JsonOptions {
  readonly recipient?: number;
  readonly deposit?: number;
  readonly approval?: number;
  readonly user?: number;
  readonly email?: string;
  readonly workspace?: WorkspaceId;
}

interface EraseOptions extends SubjectOptions {
  readonly dryRun?: boolean;
}

interface ExportOptions extends SubjectOptions {
  readonly out?: string;
}

export function addPersonalDataCommands(program: Command): void {
  const personalData = program
    .command('personal-data')
    .summary('export and erase what is held about a person')
    .description(
      'Exports what is held about a recipient, the payer of a deposit, a user or an invited person, and erases it: names, account numbers ' +
        'and texts become pseudonyms. Books, hashes and proofs stay valid, because hashes cover these texts by salted digests.\n\n' +
        'The worker erases what was not used for RECIPIENTS_KEPT_DAYS and PAYERS_KEPT_DAYS. Nothing is erased within PAYMENTS_KEPT_DAYS of a payment.',
    )
    .addHelpText(
      'after',
      examples(
        'banking personal-data export --recipient 7 --workspace 1 --out person.jsonl',
        'banking personal-data erase --recipient 7 --workspace 1 --dry-run',
        'banking personal-data erase --email mia@harbour.example',
      ),
    );
  addExportCommand(personalData);
  addEraseCommand(personalData);
}

function addSubjectOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--recipient <id>', 'a recipient of --workspace')
        .argParser(parseIdOf<number>)
        .conflicts(['deposit', 'approval', 'user', 'email']),
    )
    .addOption(
      new Option('--deposit <id>', 'the payer of a deposit of --workspace')
        .argParser(parseIdOf<number>)
        .conflicts(['approval', 'user', 'email']),
    )
    .addOption(
      new Option('--approval <id>', 'a request for approvals of --workspace that is of no recipient')
        .argParser(parseIdOf<number>)
        .conflicts(['user', 'email']),
    )
    .addOption(workspaceOption('workspace of the recipient, the deposit or the approval'))
    .addOption(new Option('--user <id>', 'a user').argParser(parseIdOf<number>).conflicts(['email', 'workspace']))
    .addOption(
      lookupOption(
        '--email <email>',
        'the user who has this e-mail, or had it last, or else the invitations to it, and the requests to invite it',
      ).conflicts('workspace'),
    );
}

function addExportCommand(personalData: Command): void {
  addSubjectOptions(personalData.command('export').summary('write what is held about a person as JSON lines'))
    .description(
      'Writes each row that holds personal data of such a person: one line of JSON with the table and the row. Salts of digests are left ' +
        'out. An existing file is not replaced.\n\nNot in it: stored responses, which expire after 30 days, and log lines.',
    )
    .addOption(lookupOption('--out <file>', 'new file, readable by its owner only (standard output)'))
    .addHelpText('after', examples('banking personal-data export --recipient 7 --workspace 1 --out person.jsonl'))
    .action(async ({ out, ...options }: ExportOptions, command: Command) => {
      requireSubject(options, command);
      if (out !== undefined) return print(await createFile(out, (write) => exported(options, write)));
      reportProgress(await exported(options, toStandardOutput).catch(unlessPipeClosed));
    });
}

/** @returns the report of the export, a sentence */
async function exported(options: SubjectOptions, write: (text: string) => Promise<void>): Promise<string> {
  const { subject, parts } = await heldOf(options);
  let count = 0;
  for (const { subjects, place } of parts) {
    const use = { ...place, changesNothing: true };
    count += await withDeployment(({ database }) => exportedOf(database, subjects, write), use);
  }
  if (count === 0) throw notFound(subject);
  return `Wrote ${count} rows with personal data of ${nameOf(subject)}.`;
}

/** @returns how many rows it has written */
async function exportedOf(
  database: Database,
  subjects: readonly PersonalDataSubject[],
  write: (text: string) => Promise<void>,
): Promise<number> {
  let count = 0;
  for (const subject of subjects) {
    const { workspaceId, subject: kind, id } = subject;
    if (kind !== 'user' && kind !== 'invitation') {
      const type = kind === 'payer' ? 'deposit' : kind;
      await notePersonalDataExport(database, workspaceId as WorkspaceId, { type, id });
    }
    for await (const page of personalDataPages(database, subject)) {
      await write(page.map((row) => `${JSON.stringify(row)}\n`).join(''));
      count += page.length;
    }
  }
  return count;
}

function addEraseCommand(personalData: Command): void {
  addSubjectOptions(personalData.command('erase').summary('make the personal data of a person pseudonyms'))
    .description(
      'Makes names, account numbers and texts pseudonyms such as erased-7, for ever, and archives a recipient. Amounts, ids, times and ' +
        'hashes stay. Fails with the reasons if the data have to be kept. A second run finds nothing left.\n\nStored responses of ' +
        'idempotency keys expire after 30 days.',
    )
    .addOption(new Option('--dry-run', 'count what would be erased, and change nothing'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking personal-data erase --recipient 7 --workspace 1 --dry-run'))
    .action(async (options: EraseOptions, command: Command) => {
      requireSubject(options, command);
      const { dryRun: isDryRun = false, json } = options;
      const { subject, parts } = await heldOf(options);
      // Nothing is erased of a person of whom something has to be kept.
      if (parts.flatMap(({ subjects }) => subjects).length > 1) await erasedOf(parts, true);
      const erased = await erasedOf(parts, isDryRun);
      if (json) return printJson({ ...subject, isDryRun, erased });
      print(reportOf(subject, erased, isDryRun));
    });
}

/** @returns the rows that it erased by table. @throws Refused for a subject that there is not, or whose data have to be kept */
async function erasedOf(parts: readonly Part[], isDryRun: boolean): Promise<ErasedRows> {
  const erased: Record<string, number> = {};
  for (const { subjects, place } of parts) {
    await withDeployment(async ({ database }, { deployment }) => {
      const erasure = { retention: deployment.personalData, isDryRun, operator: osUserName() };
      for (const subject of subjects) {
        const outcome = await erasePersonalData(database, subject, erasure);
        if (!outcome) throw notFound(subject);
        if (outcome.kept) throw keptOf(subject, outcome.kept, outcome.erased);
        for (const [table, count] of Object.entries(outcome.erased)) erased[table] = (erased[table] ?? 0) + count;
      }
    }, place);
  }
  return erased;
}

/** Why personal data are kept, and what ends it. */
const REASONS: Readonly<Record<ReasonToKeep, string>> = {
  order_active: 'An order is active. Wait for its last run, or cancel it.',
  payment_pending: 'A payment is pending. Wait for its final status.',
  discrepancy_open: 'A discrepancy of a payout is open. Resolve it: banking discrepancy list.',
  deposit_open:
    'The deposit is pending or unmatched. Wait for its booking, assign it or return it: banking deposit list.',
  entry_open: 'The entry of the bank account waits for a decision.',
  approval_open: 'A request for approvals is open. Wait for its decision, or withdraw it.',
  has_recipient: 'The request is of a recipient. Erase the recipient.',
  invitation_open: 'An invitation is open. Remove it, or wait until it expires.',
  within_retention: 'A payment is younger than PAYMENTS_KEPT_DAYS.',
  has_roles: 'The user has roles in workspaces. Remove them: banking grant list.',
};

function keptOf(subject: PersonalDataSubject, kept: readonly ReasonToKeep[], erased: ErasedRows): Refused {
  const before = tablesOf(erased);
  const done = before === '' ? 'nothing was erased' : `erased before that, by table: ${before}`;
  const reasons = kept.map((reason) => `\n- ${REASONS[reason]}`).join('');
  return new Refused(`The personal data of ${nameOf(subject)} have to be kept, and ${done}:${reasons}`);
}

const tablesOf = (erased: ErasedRows): string =>
  Object.entries(erased)
    .map(([table, count]) => `${table} ${count}`)
    .join(', ');

function reportOf(subject: PersonalDataSubject, erased: ErasedRows, isDryRun: boolean): string {
  const tables = tablesOf(erased);
  if (tables === '') return `Nothing is left to erase of ${nameOf(subject)}.`;
  return `${isDryRun ? 'Would erase' : 'Erased'} the personal data of ${nameOf(subject)}; rows by table: ${tables}.`;
}

function requireSubject(
  { recipient, deposit, approval, user, email, workspace }: SubjectOptions,
  command: Command,
): void {
  const ofWorkspace = recipient ?? deposit ?? approval;
  if (ofWorkspace === undefined && user === undefined && email === undefined) {
    command.error(
      `error: one of the options '--recipient', '--deposit', '--approval', '--user' and '--email' is needed`,
    );
  }
  if (ofWorkspace !== undefined && workspace === undefined) {
    command.error(`error: option '--workspace <id>' is needed with '--recipient', '--deposit' and '--approval'`);
  }
}

/** What one database holds about a person. */
interface Part {
  readonly place: { readonly cell?: string };
  readonly subjects: readonly PersonalDataSubject[];
}

/** Who is asked for, and where what is held is. A person of the directory is last, because the requests are found by it. */
async function heldOf(
  options: SubjectOptions,
): Promise<{ readonly subject: PersonalDataSubject; readonly parts: readonly Part[] }> {
  const { recipient, deposit, approval, user, email, workspace: workspaceId } = options;
  const named = user ?? email;
  if (named === undefined) {
    const [kind, id] =
      recipient !== undefined
        ? (['recipient', recipient] as const)
        : deposit !== undefined
          ? (['payer', deposit] as const)
          : (['approval', approval!] as const);
    const subject = { subject: kind, id, workspaceId };
    return { subject, parts: [{ place: await inCellOf(workspaceId), subjects: [subject] }] };
  }
  const atHome = { cell: HOME_CELL };
  const reading = { changesNothing: true };
  const person = await withDeployment(({ database }) => findPerson(database, named), { ...atHome, ...reading });
  const requests = await onEachCell(({ database }) => requestsNaming(database, person.addresses), reading);
  requests.end();
  const parts = requests.results
    .filter(({ result }) => result.length > 0)
    .map(({ cell, result }): Part => ({ place: cell === undefined ? {} : { cell }, subjects: result }));
  const subject = person.subject ?? parts[0]?.subjects[0];
  if (!subject) throw new Refused('No user has or had this e-mail, and no invitation. See banking user list.');
  return { subject, parts: person.subject ? [...parts, { place: atHome, subjects: [subject] }] : parts };
}

const NAMES: Readonly<Record<PersonalDataSubject['subject'], string>> = {
  recipient: 'recipient',
  payer: 'the payer of deposit',
  approval: 'approval',
  invitation: 'invitation',
  user: 'user',
};

const nameOf = ({ subject, id, workspaceId }: PersonalDataSubject): string =>
  `${NAMES[subject]} ${id}${workspaceId === undefined ? '' : ` of workspace ${workspaceId}`}`;

const notFound = (subject: PersonalDataSubject): Refused =>
  new Refused(`There is no ${nameOf(subject).replace(/^the payer of /, '')}.`);
