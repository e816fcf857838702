import { createReadStream } from 'node:fs';
import { ExportFault, type ExportProof, linesOf, proveExport } from '@banking/domain/proof';
import type { Command } from 'commander';
import { examples } from './help.js';
import { jsonOption, lookupArgument } from './inputs.js';
import { print, printJson, printTable, tell } from './print.js';
import { Refused } from './refused.js';
import { shownAmount } from './shown-amount.js';

/** Lines between two words on how far it is. */
const TOLD_EVERY = 20_000;

export function addProveCommand(program: Command): void {
  program
    .command('prove')
    .summary('prove an export from its lines alone')
    .description(
      'Re-computes every balance and every hash in a file that banking export wrote, and prints what each account ends with.\n\n' +
        'Needs no database. Exit code 1, with the line and what is wrong with it, when the file proves nothing. Whose books ' +
        'they are, compare: the hash of a transaction you saw, with the file; a head you kept, with what is printed.',
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

/** @throws Refused saying which line is at fault, or that the file cannot be read */
async function proven(file: string): Promise<ExportProof> {
  try {
    return await proveExport(counted(linesOf(createReadStream(file))));
  } catch (error) {
    if (error instanceof ExportFault) throw new Refused(`${file} proves nothing: ${error.message}.`);
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (code !== undefined && syscall !== undefined) throw new Refused(`${file} cannot be read: ${message}.`);
    throw error;
  }
}

async function* counted(lines: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let count = 0;
  for await (const line of lines) {
    yield line;
    count += 1;
    if (count % TOLD_EVERY === 0) tell(`Proved ${count} lines.`);
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
    `Every balance and every hash of workspace ${workspace.id}, ${workspace.name}, as of ${exportedAt}, is what the lines make: ` +
      `${accounts.length} accounts, ${transactions} transactions, ${transfers} transfers.`,
  );
}
