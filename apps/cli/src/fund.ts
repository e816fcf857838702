import { type AccountId, fromBalanceAmount, isIdempotencyKey, parseTransferAmount, toDecimal } from '@banking/domain';
import { addFunding } from '@banking/operations';
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { withDeployment } from './deployment.js';
import { examples } from './help.js';
import { jsonOption, nameOption, parseIdOf } from './inputs.js';
import { print, printJson } from './print.js';
import { Refused } from './refused.js';

interface FundOptions {
  readonly reference?: string;
  readonly key?: string;
  readonly json?: boolean;
}

/** As long as the description of an order may be. */
const REFERENCE_MAX = 512;

export function addFundCommand(program: Command): void {
  program
    .command('fund')
    .summary('book money that has arrived on an account')
    .description(
      'Books money that has arrived: a credit of the account, completed at once, without a fee. In any deployment.\n\n' +
        'Run twice, it books twice. With --key it books once, however often it is run.',
    )
    .addArgument(new Argument('<account>', 'id of an account').argParser(parseIdOf<AccountId>))
    .addArgument(new Argument('<amount>', 'as people write it, in the currency of the account: 1250.00'))
    .addOption(nameOption('--reference <text>', 'what the sender wrote, kept as the description of the transfer'))
    .addOption(
      new Option('--key <key>', 'name of what is meant, such as the id on a bank statement').argParser(parseKey),
    ) // prettier-ignore
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('banking fund 3 1250.00', 'banking fund 3 1250.00 --reference "Invoice 4711" --key 20261121-000017'),
    )
    .action(async (accountId: AccountId, amount: string, options: FundOptions) => {
      const { reference, key, json } = options;
      if (reference !== undefined && reference.length > REFERENCE_MAX) {
        throw new Refused(`A reference has at most ${REFERENCE_MAX} characters.`);
      }
      const booked = await withDeployment(({ books }) => addFunding(books, { accountId, amount, reference, key }));
      if (json) return printJson(booked);
      const { transfer, currency, workspace, workspaceId, isReplay } = booked;
      const moved = toDecimal(parseTransferAmount(transfer.amount), currency);
      const left = toDecimal(fromBalanceAmount(transfer.edges.balance?.amount ?? 0), currency);
      print(
        `${isReplay ? 'Booked before' : 'Booked'}: transfer ${transfer.id}, ${moved} ${currency} on account ${accountId} ` +
          `of workspace ${workspaceId}, ${workspace}. That left ${left} ${currency} there.`,
      );
    });
}

function parseKey(text: string): string {
  if (!isIdempotencyKey(text)) throw new InvalidArgumentError('Write 1 to 255 visible ASCII characters, no spaces.');
  return text;
}
