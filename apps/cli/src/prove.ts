import { createReadStream } from 'node:fs';
import type { Command } from 'commander';
import {
  type Anchor,
  type AnchorComparison,
  AnchorFault,
  AuditSinceAnchor,
  AuditTrailFault,
  type AuditTrailProof,
  isAuditLine,
  proveAuditTrail,
  readAnchor,
  SinceAnchor,
} from '@banking/books-proof';
import { ExportFault, type ExportProof, linesOf, proveExport, type ProveOptions } from '@banking/domain/proof';
import { publicKeyOf } from './anchor.js';
import { examples, jsonOption, lookupArguments, lookupOption } from './inputs.js';
import { print, printJson, printTable, Refused, reportProgress, shownAmount } from './print.js';

interface ProveCommandOptions {
  readonly since?: string;
  readonly publicKey?: string;
  readonly json?: boolean;
}

export function addProveCommand(program: Command): void {
  program
    .command('prove')
    .summary('verify an export file')
    .description(
      'Recomputes every balance and every hash of a file of banking export, and prints the final balance and head of each account. ' +
        'Of a file of banking audit export, it recomputes the chain of hashes.\n\n' +
        'Needs no database. If a line is wrong, the command names it with the fault, and the exit code is 1. To confirm the origin ' +
        'of the file, compare it with a transaction hash or a head that you recorded earlier.\n\n' +
        'With --since, each head of the anchor must be on the chain of its account, and the anchored entry in the audit trail. The ' +
        'command names every account and every trail that was changed or cut, and every workspace of the anchor without an export ' +
        'or without a file of its audit trail. It exits with 1 if one differs, or the signature or an export is not valid.',
    )
    .addArgument(
      lookupArguments(
        '<file...>',
        'an export of the books or of the audit trail of one workspace; several with --since',
      ),
    )
    .addOption(
      lookupOption('--since <anchor>', 'file of banking anchor: prove that nothing up to it was changed or cut'),
    )
    .addOption(
      lookupOption(
        '--public-key <file>',
        'Ed25519 public key in PEM that signed the anchor; from its owner, not from us',
      ),
    )
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples(
        'banking prove books.jsonl',
        'gunzip -c books.jsonl.gz | banking prove /dev/stdin',
        'banking prove audit.jsonl',
        'banking prove --since anchor.jsonl --public-key anchor.pub books-1.jsonl audit-1.jsonl books-2.jsonl',
      ),
    )
    .action(async (files: readonly string[], { since, publicKey, json }: ProveCommandOptions, command: Command) => {
      if ((since === undefined) !== (publicKey === undefined)) {
        return command.error('error: --since and --public-key belong together');
      }
      if (since !== undefined && publicKey !== undefined) return proveSince(files, since, publicKey, json === true);
      const [file, another] = files;
      if (file === undefined || another !== undefined)
        return command.error("error: too many arguments for 'prove' without --since. Expected 1 argument.");
      const proven = await provenFile(file);
      if (proven.kind === 'audit') {
        const { workspaceId, oldest, newest } = proven.proof;
        if (json) return printJson({ auditTrail: proven.proof });
        return print(
          `Every hash of the audit trail of workspace ${workspaceId} is correct: entries ${oldest} to ${newest} follow each other.`,
        );
      }
      const { accounts, ...proof } = proven.proof;
      if (json) {
        printJson({ ...proof, accounts: accounts.map((one) => ({ ...one, balance: one.balance.toString() })) });
      } else printProof({ accounts, ...proof });
    });
}

function printProof({ workspace, exportedAt, accounts, transactions, transfers, erased }: ExportProof): void {
  printTable(
    ['Account', 'Kind', 'Balance', 'Currency', 'Transfers', 'Head'],
    accounts.map(({ id, kind, balance, currencyCode, version, head }) => [
      ...[id, kind, shownAmount(balance, currencyCode), currencyCode],
      ...[kind === 'customer' ? version : '', head],
    ]),
    'There are no accounts.',
  );
  print('');
  print(
    `Every balance and every hash of workspace ${workspace.id}, ${workspace.name}, as of ${exportedAt}, is correct: ` +
      `${accounts.length} accounts, ${transactions} transactions, ${transfers} transfers.`,
  );
  if (erased > 0)
    print(
      `Personal texts of ${erased} recipients, orders and transfers were erased, and only their digests are proven.`,
    );
}

const FAULTS_MAX = 20;

interface Result {
  readonly file: string;
  readonly proof?: ExportProof;
  readonly compared?: AnchorComparison;
  readonly audit?: AuditTrailProof;
  readonly faults: readonly string[];
}

/**
 * Proves exports of books and of audit trails, and that each contains what was there at the anchor. Prints every export.
 *
 * @throws Refused with all faults: an invalid anchor or export, a head that is not on its chain, a workspace without heads
 */
async function proveSince(
  files: readonly string[],
  anchorFile: string,
  publicKeyFile: string,
  isJson: boolean,
): Promise<void> {
  const anchor = await verifiedAnchor(anchorFile, publicKeyFile);
  const results: Result[] = [];
  for (const file of files) results.push(await compared(file, anchor));
  const exported = new Set(results.map(({ proof }) => proof?.workspace.id));
  const trails = new Set(results.map(({ audit }) => audit?.workspaceId));
  const notProved = [...anchor.workspaces.keys()].filter((id) => !exported.has(id));
  const notCompared = [...anchor.audits.keys()].filter((id) => !trails.has(id));
  const { anchoredAt, keyId } = anchor;
  if (isJson) {
    const exports = results.map(({ file, proof, compared: comparison, audit, faults }) => ({
      file,
      ...(audit ? { auditTrail: audit } : { workspace: proof?.workspace, exportedAt: proof?.exportedAt }),
      ...(comparison && { unchanged: comparison.unchanged, opened: comparison.opened }),
      faults,
    }));
    printJson({ anchor: { anchoredAt, keyId }, exports, notProved, auditTrailsNotCompared: notCompared });
  } else {
    results.forEach((result) => printResult(result, anchor));
    if (notProved.length > 0) {
      print(`Not proved, because no export was given: workspace ${notProved.join(', workspace ')}.`);
    }
    if (notCompared.length > 0) {
      print(
        `Audit trail not compared, because no file of banking audit export was given: workspace ${notCompared.join(', workspace ')}.`,
      );
    }
  }
  const faults = results.flatMap((result) => result.faults.map((fault) => `${result.file}: ${fault}`));
  if (faults.length > 0) throw new Refused(faults.join('\n'));
}

/** Reads an anchor. @throws Refused if it is not valid, or not signed with the key */
export async function verifiedAnchor(file: string, publicKeyFile: string): Promise<Anchor> {
  const publicKey = await publicKeyOf(publicKeyFile);
  try {
    return await readLines(file, (lines) => readAnchor(lines, publicKey));
  } catch (error) {
    if (error instanceof AnchorFault) throw new Refused(`The file ${file} is not a valid anchor: ${error.message}.`);
    throw error;
  }
}

async function compared(file: string, anchor: Anchor): Promise<Result> {
  const since = new SinceAnchor(anchor);
  const auditSince = new AuditSinceAnchor(anchor);
  try {
    const proven = await provenFile(file, { onHead: since.take, onEntry: auditSince.take });
    if (proven.kind === 'audit') {
      const fault = auditSince.faultOf(proven.proof);
      return { file, audit: proven.proof, faults: fault === undefined ? [] : [fault] };
    }
    const comparison = since.compare(proven.proof);
    return { file, proof: proven.proof, compared: comparison, faults: faultsOf(proven.proof, comparison, anchor) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { file, faults: [error.message] };
  }
}

function faultsOf({ workspace, exportedAt }: ExportProof, comparison: AnchorComparison, anchor: Anchor): string[] {
  if (!comparison.isAnchored) return [`The anchor has no heads of workspace ${workspace.id}, so nothing is proved.`];
  const { faults } = comparison;
  if (faults.length === 0) return [];
  const isOlder = Date.parse(exportedAt) < Date.parse(anchor.anchoredAt);
  return [
    ...faults.slice(0, FAULTS_MAX),
    ...(faults.length > FAULTS_MAX ? [`${faults.length - FAULTS_MAX} more accounts differ from the anchor.`] : []),
    ...(isOlder ? ['By its time, the export is older than the anchor. Prove a later export.'] : []),
  ];
}

function printResult({ proof, compared: comparison, audit, faults }: Result, { anchoredAt }: Anchor): void {
  if (faults.length > 0) return;
  if (audit) {
    print(
      `Nothing of the audit trail of workspace ${audit.workspaceId} was changed or cut up to the anchor of ${anchoredAt}: ` +
        `entries ${audit.oldest} to ${audit.newest} follow each other.`,
    );
  }
  if (!proof || !comparison) return;
  const { unchanged, opened } = comparison;
  print(
    `Nothing of workspace ${proof.workspace.id}, ${proof.workspace.name}, was changed or cut up to the anchor of ${anchoredAt}: ` +
      `${unchanged} accounts unchanged, ${opened} opened later.`,
  );
}

/** Lines between two reports of progress. */
const LINES_PER_REPORT = 20_000;

/** What a file of `banking export` or of `banking audit export` has proved. */
type ProvenFile =
  { readonly kind: 'books'; readonly proof: ExportProof } | { readonly kind: 'audit'; readonly proof: AuditTrailProof };

interface ProveFileOptions extends ProveOptions {
  readonly onEntry?: Parameters<typeof proveAuditTrail>[1];
}

/** Proves an export of books, or of an audit trail: the first line says which. @throws Refused if a line is wrong, or the file cannot be read */
async function provenFile(file: string, { onEntry, ...options }: ProveFileOptions = {}): Promise<ProvenFile> {
  try {
    return await readLines(file, async (lines): Promise<ProvenFile> => {
      const [first, all] = await peeked(counted(lines));
      return first !== undefined && isAuditLine(first)
        ? { kind: 'audit', proof: await proveAuditTrail(all, onEntry) }
        : { kind: 'books', proof: await proveExport(all, options) };
    });
  } catch (error) {
    if (error instanceof ExportFault) throw new Refused(`The file ${file} is not a valid export: ${error.message}.`);
    if (error instanceof AuditTrailFault) {
      throw new Refused(`The file ${file} is not a valid export of an audit trail: ${error.message}.`);
    }
    throw error;
  }
}

async function readLines<T>(file: string, read: (lines: AsyncIterable<string>) => Promise<T>): Promise<T> {
  try {
    return await read(linesOf(createReadStream(file)));
  } catch (error) {
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (code !== undefined && syscall !== undefined) throw new Refused(`The file ${file} cannot be read: ${message}.`);
    throw error;
  }
}

/** The first line, and all lines with it. A file may be a pipe, which is read once. */
async function peeked(lines: AsyncGenerator<string, void, undefined>) {
  const { value: first } = await lines.next();
  async function* all() {
    if (first !== undefined) yield first;
    yield* lines;
  }
  return [first ?? undefined, all()] as const;
}

async function* counted(lines: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let count = 0;
  for await (const line of lines) {
    yield line;
    count += 1;
    if (count % LINES_PER_REPORT === 0) reportProgress(`Proved ${count} lines.`);
  }
}
