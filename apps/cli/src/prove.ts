import type { ExportProof } from '@banking/domain/proof';
import type { Command } from 'commander';
import { examples } from './help.js';
import { jsonOption, lookupArguments, lookupOption } from './inputs.js';
import { print, printJson, printTable } from './print.js';
import { proveSince } from './prove-since.js';
import { provenFile } from './proven-file.js';
import { shownAmount } from './shown-amount.js';

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

function printProof({ workspace, exportedAt, accounts, transactions, transfers }: ExportProof): void {
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
}
