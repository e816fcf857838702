import { type AccountId, fromBalanceAmount, isIdempotencyKey, parseTransferAmount, toDecimal } from '@banking/domain';
import { addFunding, readFunding } from '@banking/operations/provisioning';
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { withDeployment } from './deployment.js';
import { inCellOfAccount } from './each-cell.js';
import { examples, jsonOption, nameOption, parseIdOf } from './inputs.js';
import { type ApproveOptions, approveOption, bySecondOperator } from './operator-request.js';
import { print, printJson, Refused } from './print.js';

interface FundOptions extends ApproveOptions {
  readonly reference?: string;
  readonly key?: string;
}

/** The limit of the description of an order. */
const REFERENCE_MAX = 512;

export function addFundCommand(program: Command): void {
  program
    .command('fund')
    .summary('book incoming money on an account')
    .description(
      'Books incoming money: a credit of the account, completed at once, without a fee.\n\n' +
        'Each run books once more. With --key, repeated runs book once.',
    )
    .addArgument(new Argument('<account>', 'id of an account').argParser(parseIdOf<AccountId>))
    .addArgument(new Argument('<amount>', 'decimal amount in the currency of the account, such as 1250.00'))
    .addOption(nameOption('--reference <text>', 'reference of the sender, stored as the description of the transfer'))
    .addOption(new Option('--key <key>', 'idempotency key, such as the id on a bank statement').argParser(parseKey))
    .addOption(approveOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('banking fund 3 1250.00', 'banking fund 3 1250.00 --reference "Invoice 4711" --key 20261121-000017'),
    )
    .action(async (accountId: AccountId, amount: string, options: FundOptions) => {
      const { reference, key, json } = options;
      if (reference !== undefined && reference.length > REFERENCE_MAX) {
        throw new Refused(`The reference has ${reference.length} characters. At most ${REFERENCE_MAX} are allowed.`);
      }
      const booked = await withDeployment(
        async (deployment, config) => {
          const { amount: digits } = await readFunding(deployment.database, { accountId, amount });
          const action = { action: 'fundAccount', arguments: { accountId, amount: digits, reference, key } } as const;
          return bySecondOperator(deployment, config, options, action, ({ books }) =>
            addFunding(books, { accountId, amount, reference, key, isOfOperator: true }),
          );
        },
        await inCellOfAccount(accountId),
      );
      if (json) return printJson(booked);
      const { transfer, currency, workspace, workspaceId, isReplay } = booked;
      const moved = toDecimal(parseTransferAmount(transfer.amount), currency);
      const left = toDecimal(fromBalanceAmount(transfer.edges.balance?.amount ?? 0), currency);
      print(
        `${isReplay ? 'Booked before' : 'Booked'}: transfer ${transfer.id}, ${moved} ${currency} on account ${accountId} ` +
          `of workspace ${workspaceId}, ${workspace}. The balance after it is ${left} ${currency}.`,
      );
    });
}

function parseKey(text: string): string {
  if (!isIdempotencyKey(text)) throw new InvalidArgumentError('Write 1 to 255 visible ASCII characters, no spaces.');
  return text;
}
