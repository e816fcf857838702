import {
  DEPOSIT_STEPS,
  type DepositStatus,
  type WorkspaceId,
  type AccountId,
  fromBalanceAmount,
  isIdempotencyKey,
  parseTransferAmount,
  toDecimal,
} from '@banking/domain';
import {
  assignDeposit,
  findTarget,
  newestDeposits,
  returnDeposit,
  type WaitingEntry,
  waitingEntries,
  addFunding,
  readFunding,
} from '@banking/operations/provisioning';
import { ignoreEntry } from '@banking/rails';
import { Argument, type Command, Option, InvalidArgumentError } from 'commander';
import { withDeployment } from './deployment.js';
import { inCellOf, onEachCell, printRows, inCellOfAccount } from './each-cell.js';
import {
  examples,
  jsonOption,
  lookupOption,
  nameOption,
  parseIdOf,
  refuseLongNote,
  workspaceOption,
} from './inputs.js';
import { type ApproveOptions, approveOption, bySecondOperator } from './operators.js';
import { print, printJson, Refused, shownMoney } from './print.js';
import { chosenWorkspaces } from './workspaces.js';

interface ListOptions {
  readonly workspace?: WorkspaceId;
  readonly status?: DepositStatus;
  readonly waiting?: boolean;
  readonly json?: boolean;
}

interface EndOptions extends ApproveOptions {
  readonly workspace: WorkspaceId;
  readonly note: string;
}

export function addDepositCommands(program: Command): void {
  const deposit = program
    .command('deposit')
    .summary('list money that arrived, assign and return it')
    .description(
      'Manages money that arrived at a bank account of RAILS_FILE whose files are read. The worker books it on the account whose code the ' +
        'payer wrote, or else on the suspense account, where it is unmatched until it is assigned or returned.',
    )
    .addHelpText(
      'after',
      examples(
        'banking deposit list --status unmatched',
        'banking deposit assign 7 --workspace 1 --account BA76123456789012 --note "the payer confirmed"',
        'banking deposit return 7 --workspace 1 --note "ticket 4711"',
      ),
    );
  addListCommand(deposit);
  addAssignCommand(deposit);
  addReturnCommand(deposit);
  addIgnoreCommand(deposit);
}

function addListCommand(deposit: Command): void {
  deposit
    .command('list')
    .summary('list deposits')
    .description(
      'Lists the newest deposits, at most 100. Of several databases, all are listed, or the one of CELL.\n\nWith --waiting, lists what the ' +
        'bank has booked and the books do not have, the oldest first, at most 100 of a database: credits without an account that takes them, ' +
        'where there is no suspense account; reversals of money that is gone; and returns and debits that match no payment, such as ' +
        'less charges, or of a payment that the restored books do not have.\n\n' +
        'If the payment of a return is settled and not returned, give the money to its customer with banking fund. If it is returned, ' +
        'the customer has the money already. Then end the entry with banking deposit ignore.',
    )
    .addOption(workspaceOption('only this workspace').conflicts('waiting'))
    .addOption(
      new Option('--status <status>', 'only deposits with this status')
        .choices(Object.keys(DEPOSIT_STEPS))
        .conflicts('waiting'),
    )
    .addOption(new Option('--waiting', 'entries of bank accounts that wait for an operator'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking deposit list --status unmatched', 'banking deposit list --waiting --json'))
    .action((options: ListOptions) => (options.waiting === true ? listWaiting(options) : listDeposits(options)));
}

async function listDeposits({ workspace, status, json }: ListOptions): Promise<void> {
  const read = await onEachCell(
    async ({ database }) => {
      const ids = (await chosenWorkspaces(database, workspace)).map(({ id }) => id);
      return newestDeposits(database, ids, status);
    },
    { changesNothing: true, ...(await inCellOf(workspace)) },
  );
  printRows(read, json, {
    head: ['Id', 'Workspace', 'Account', 'Amount', 'Status', 'Value date', 'Payer', 'Reference'],
    cells: ({ id, workspaceId, accountId, amount, currencyCode, ...row }) => [
      ...[id, workspaceId, accountId],
      ...[shownMoney(amount, currencyCode), row.status],
      ...[row.valueDate ?? '', row.payer.name ?? '', row.reference ?? ''],
    ],
    none: 'There are no such deposits.',
  });
  read.end();
}

async function listWaiting({ json }: ListOptions): Promise<void> {
  const read = await onEachCell(({ database }) => waitingEntries(database), { changesNothing: true });
  const results = read.results.map(({ cell, result }) => ({ cell, result: result.entries }));
  printRows({ ...read, results }, json, {
    head: ['Entry', 'Rail', 'Bank account', 'Amount', 'Kind', 'Value date', 'Payer', 'Reference', 'Payment'],
    cells: ({ entryId, rail, bankAccount, amount, currencyCode, ...row }) => [
      ...[entryId, rail, bankAccount, shownMoney(amount, currencyCode)],
      ...[kindOf(row), row.valueDate ?? '', row.payer.name ?? '', row.reference ?? '', paymentOf(row)],
    ],
    none: 'No entry waits.',
    hasMore: read.results.some(({ result }) => result.hasMore),
  });
  read.end();
}

function paymentOf({ payment }: Pick<WaitingEntry, 'payment'>): string {
  if (!payment) return '';
  const { key, status, isReturned } = payment;
  return [key, status ?? 'not in the books', ...(isReturned ? ['returned'] : [])].join(', ');
}

function kindOf(entry: Pick<WaitingEntry, 'direction' | 'isReturn' | 'isReversal'>): string {
  if (entry.isReturn) return 'return that matches no payment';
  if (entry.isReversal) return 'reversal';
  return entry.direction === 'debit' ? 'debit that matches no payment' : 'credit';
}

const idArgument = () => new Argument('<id>', 'id of a deposit; see banking deposit list').argParser(parseIdOf<number>);
const noteOption = () => nameOption('--note <text>', 'reason, stored with the deposit').makeOptionMandatory();

function addAssignCommand(deposit: Command): void {
  deposit
    .command('assign')
    .summary('give a deposit to the account that it was meant for')
    .description(
      'Gives an unmatched deposit to the account that it was meant for, of any workspace. The money leaves the suspense account, and ' +
        'enters the other one as a deposit of its own. Both are written at once. Fails if the suspense account does not have the money ' +
        'any more.\n\nIf the account was the wrong one, assign the deposit there in the same way.',
    )
    .addArgument(idArgument())
    .addOption(workspaceOption('id of its workspace').makeOptionMandatory())
    .addOption(lookupOption('--account <account>', 'id or code of the account').makeOptionMandatory())
    .addOption(noteOption())
    .addOption(approveOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('banking deposit assign 7 --workspace 1 --account BA76123456789012 --note "the payer confirmed"'),
    )
    .action(async (depositId: number, options: EndOptions & { readonly account: string }) => {
      const { workspace: workspaceId, note, account, json } = options;
      refuseLongNote(note);
      const assigned = await withDeployment(
        async (deployment, config) => {
          const target = await findTarget(deployment.database, account);
          if (!target) return 'account_not_found';
          const { accountId } = target;
          const action = { action: 'assignDeposit', arguments: { workspaceId, depositId, accountId, note } } as const;
          return bySecondOperator(deployment, config, options, action, ({ books }) =>
            assignDeposit(books, { workspaceId, depositId, note, account }),
          );
        },
        await inCellOf(workspaceId),
      );
      const name = `deposit ${depositId} of workspace ${workspaceId}`;
      if (typeof assigned === 'string') throw new Refused(OBSTACLES[assigned](name));
      if (json) return printJson({ workspaceId, id: depositId, assigned });
      print(
        `Assigned ${name}: its money is on account ${assigned.accountId} of workspace ${assigned.workspaceId}, as deposit ` +
          `${assigned.depositId}.`,
      );
    });
}

function addReturnCommand(deposit: Command): void {
  deposit
    .command('return')
    .summary('take the money of a deposit that is sent back at the bank')
    .description(
      'Takes the money of a deposit from its account, because you send it back at the bank: this command sends nothing. Fails if the ' +
        'account does not have the money any more. A pending deposit ends, and no money moves.\n\nThe debit that follows on the statement ' +
        'of the bank is recognised by hand.',
    )
    .addArgument(idArgument())
    .addOption(workspaceOption('id of its workspace').makeOptionMandatory())
    .addOption(noteOption())
    .addOption(approveOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking deposit return 7 --workspace 1 --note "ticket 4711"'))
    .action(async (depositId: number, options: EndOptions) => {
      const { workspace: workspaceId, note, json } = options;
      refuseLongNote(note);
      const action = { action: 'returnDeposit', arguments: { workspaceId, depositId, note } } as const;
      const returned = await withDeployment(
        (deployment, config) =>
          bySecondOperator(deployment, config, options, action, ({ books }) =>
            returnDeposit(books, { workspaceId, depositId, note }),
          ),
        await inCellOf(workspaceId),
      );
      const name = `deposit ${depositId} of workspace ${workspaceId}`;
      if (typeof returned === 'string') throw new Refused(OBSTACLES[returned](name));
      const { transactionId } = returned;
      if (json) return printJson({ workspaceId, id: depositId, transactionId });
      print(
        transactionId === undefined
          ? `Returned ${name}: no money was credited.`
          : `Returned ${name}: its money was taken by transaction ${transactionId}. Send it back at the bank.`,
      );
    });
}

const OBSTACLES: Readonly<
  Record<'not_found' | 'ended' | 'not_assignable' | 'account_not_found' | 'wrong_currency', (name: string) => string>
> = {
  not_found: (name) => `There is no ${name}. See banking deposit list.`,
  ended: (name) => `The ${name} has ended already. See banking deposit list.`,
  not_assignable: (name) =>
    `The ${name} is neither unmatched nor one that was assigned to its account, so it is not assigned. See banking deposit list.`,
  account_not_found: () => 'There is no account with this id or code.',
  wrong_currency: (name) => `The ${name} has another currency than the account. Choose an account in its currency.`,
};

function addIgnoreCommand(deposit: Command): void {
  deposit
    .command('ignore')
    .summary('ignore an entry of a bank account that is not for the books')
    .description(
      'Ends the difference of a booked entry of a bank account that is no payment and no deposit of the service, such as a fee of the ' +
        'bank, or that is of a payment which the restored books do not have. The books do not get it, and banking reconcile does not ' +
        'show it again.',
    )
    .addArgument(
      new Argument(
        '<entry>',
        'number of the entry; see banking reconcile and banking deposit list --waiting',
      ).argParser(parseIdOf<number>),
    )
    .addOption(nameOption('--note <text>', 'reason, stored with the entry').makeOptionMandatory())
    .addOption(approveOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking deposit ignore 17 --note "fee of the bank for November"'))
    .action(async (entryId: number, options: Omit<EndOptions, 'workspace'>) => {
      const { note, json } = options;
      refuseLongNote(note);
      const action = { action: 'ignoreEntry', arguments: { entryId, note } } as const;
      const ignored = await withDeployment((deployment, config) =>
        bySecondOperator(deployment, config, options, action, ({ database }) =>
          ignoreEntry(database, { entryId, note }),
        ),
      );
      if (ignored === 'not_found') throw new Refused(`There is no booked entry ${entryId}. See banking reconcile.`);
      if (ignored === 'known') throw new Refused(`The books have entry ${entryId}, or it is ignored already.`);
      if (json) return printJson({ entryId, ignored: true });
      print(`Ignored entry ${entryId}.`);
    });
}

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
