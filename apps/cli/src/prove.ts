import { createReadStream } from 'node:fs';
import { ExportFault, type ExportProof, linesOf, proveExport } from '@banking/domain/proof';
import type { Command } from 'commander';
import { examples } from './help.js';
import { jsonOption, lookupArgument } from './inputs.js';
import { print, printJson, printTable, reportProgress } from './print.js';
import { Refused } from './refused.js';
import { shownAmount } from './shown-amount.js';

/** Lines between two reports of progress. */
const LINES_PER_REPORT = 20_000;

export function addProveCommand(program: Command): void {
  program
    .command('prove')
    .summary('verify an export file')
    .description(
      'Recomputes every balance and every hash of a file of banking export, and prints the final balance and head of each account.\n\n' +
        'Needs no database. If a line is wrong, the command names it with the fault, and the exit code is 1. To confirm the origin ' +
        'of the file, compare it with a transaction hash or a head that you recorded earlier.',
    )
    .addArgument(lookupArgument('<file>', 'an export of one workspace'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking prove books.jsonl', 'gunzip -c books.jsonl.gz | banking prove /dev/stdin'))
    .action(async (file: string, { json }: { json?: boolean }) => {
      const { accounts, ...proof } = await proven(file);
      if (json) {
        printJson({ ...proof, accounts: accounts.map((one) => ({ ...one, balance: one.balance.toString() })) });
      } else printProof({ accounts, ...proof });
    });
}

/** @throws Refused if a line is wrong, or the file cannot be read */
async function proven(file: string): Promise<ExportProof> {
  try {
    return await proveExport(counted(linesOf(createReadStream(file))));
  } catch (error) {
    if (error instanceof ExportFault) throw new Refused(`The file ${file} is not a valid export: ${error.message}.`);
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (code !== undefined && syscall !== undefined) throw new Refused(`The file ${file} cannot be read: ${message}.`);
    throw error;
  }
}

async function* counted(lines: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let count = 0;
  for await (const line of lines) {
    yield line;
    count += 1;
    if (count % LINES_PER_REPORT === 0) reportProgress(`Proved ${count} lines.`);
  }
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
