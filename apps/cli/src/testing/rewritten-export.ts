import { readFileSync, writeFileSync } from 'node:fs';
import { type ExportLine, exportLine, type TransactionContent, transactionHash } from '@banking/domain/proof';

type Account = Extract<ExportLine, { account: unknown }>['account'];
type Transaction = Extract<ExportLine, { transaction: unknown }>['transaction'];

/** Returns the new content of a transaction, or undefined to cut it. */
export type Edit = (content: TransactionContent) => TransactionContent | undefined;

/**
 * Rewrites an export file as an operator with all rights could: recomputes versions, balances, links, hashes and the claims of accounts,
 * so that the file is consistent again. Omits the accounts in `without`.
 */
export async function rewriteExport(file: string, edit: Edit, without: readonly number[] = []): Promise<void> {
  const lines = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as ExportLine);
  const header = lines.flatMap((line) => ('header' in line ? [line.header] : []))[0]!;
  const states = new Map<number, Account>();
  for (const line of lines) {
    if (!('account' in line) || without.includes(line.account.id)) continue;
    states.set(line.account.id, { ...line.account, balance: '0', version: 0, head: '' });
  }
  const rest: ExportLine[] = [];
  let isCut = false;
  for (const line of lines) {
    if ('header' in line || 'account' in line || 'end' in line) continue;
    if ('transaction' in line) {
      const content = edit(line.transaction.content);
      isCut = content === undefined;
      if (content) rest.push({ transaction: await rebooked({ ...line.transaction, content }, states) });
      // The lines that follow a transaction are cut with it.
    } else if (!isCut) rest.push(line);
  }
  const count = (kind: string) => rest.filter((line) => kind in line).length;
  const details = { executions: count('execution'), conversions: count('conversion'), events: count('event') };
  const transfers = rest.flatMap((line) => ('transaction' in line ? line.transaction.content.transfers : [])).length;
  const counts = { accounts: states.size, transactions: count('transaction') };
  const rows: ExportLine[] = [
    { header: { ...header, ...counts } },
    ...Array.from(states.values(), (account) => ({ account })),
    ...rest,
    { end: { ...counts, transfers, recipients: count('recipient'), orders: count('order'), ...details } },
  ];
  writeFileSync(file, rows.map((row) => `${exportLine(row)}\n`).join(''));
}

async function rebooked(transaction: Transaction, states: Map<number, Account>): Promise<Transaction> {
  const { content } = transaction;
  const previous = content.previous.map(({ accountId }) => ({ accountId, hash: states.get(accountId)!.head }));
  const transfers = content.transfers.map((transfer) => {
    const state = states.get(transfer.accountId)!;
    const amount = transfer.direction === 'credit' ? BigInt(transfer.amount) : -BigInt(transfer.amount);
    const balance = (BigInt(state.balance) + amount).toString();
    const version = transfer.accountVersion === undefined ? 0 : state.version + 1;
    states.set(transfer.accountId, { ...state, balance, version });
    return version === 0 ? transfer : { ...transfer, accountVersion: version, balanceAfter: balance };
  });
  const rewritten = { ...content, transfers, previous };
  const hash = await transactionHash(rewritten);
  for (const { accountId } of previous) states.set(accountId, { ...states.get(accountId)!, head: hash });
  return { ...transaction, content: rewritten, hash };
}
