import type { Timestamp } from '@banking/domain';
import { type ExportedAccount, type ExportEnd, type ExportLine, exportLine } from '@banking/domain/proof';
import { bookedTransactions } from '@banking/ledger';
import { bind, statement, type Database, type Tx } from '@banking/postgres';
import { ExportOrder } from './export-order.js';

/** Accounts read at a time. */
const PORTION = 1_000;

/** More than any number of processes has had ids in hand: then the books have a gap that nothing will fill. */
const WAITING_MAX = 50_000;

/** Whoever reads the export may take their time, as `less` does; the transaction waits for them. */
const WAIT_FOR_READER = statement(
  'export_patience',
  `select set_config('idle_in_transaction_session_timeout', '0', true)`,
);

const COUNT = statement<{ exported_at: Timestamp; account_count: bigint; transaction_count: bigint }>(
  'export_count',
  `select rfc3339(now()) as exported_at,
          (select count(*) from account where workspace_id = $1) as account_count,
          (select count(*) from transaction where workspace_id = $1) as transaction_count`,
);

/** What each account is claimed to hold: a customer's as it is stored, our own as its transfers sum up. */
const ACCOUNTS = statement<{ account: ExportedAccount }>(
  'export_accounts',
  `select json_build_object('id', a.id, 'kind', a.kind, 'currencyCode', c.code, 'version', a.version, 'head', a.head,
            'balance', case a.kind when 'customer' then a.balance::text else coalesce(own.balance, 0)::text end) as account
   from account a
   join currency c on c.id = a.currency_id
   left join lateral (
     select sum(case t.direction when 'credit' then t.amount else -t.amount end) as balance
     from transfer t where t.workspace_id = $1 and t.account_id = a.id
   ) own on a.kind <> 'customer'
   where a.workspace_id = $1 and a.id > $2
   order by a.id limit $3`,
);

/** Books that cannot be exported, because they are not in order. */
export class ExportError extends Error {
  override readonly name = 'ExportError';
}

/**
 * Writes the books of a workspace as the lines that `proveExport` of `@banking/domain/proof` reads: the header, every account with
 * what it holds, every transaction, the end. All of it as of one instant, while postings go on.
 *
 * Never holds more than a portion of lines; the next is read when `write` has resolved.
 *
 * @param write takes whole lines, with their line feeds
 * @param onPortion is told how many transactions of how many are written
 * @throws ExportError when transactions are missing, so that what follows them cannot be put behind them
 */
export async function exportBooks(
  database: Database,
  workspace: { readonly id: number; readonly name: string },
  write: (text: string) => Promise<void>,
  onPortion: (written: number, of: number) => void = () => {},
): Promise<ExportEnd> {
  const { id, name } = workspace;
  const work = async (tx: Tx): Promise<ExportEnd> => {
    const [, [count]] = await tx.flight([bind(WAIT_FOR_READER), bind(COUNT, id)] as const);
    const [accounts, transactions] = [Number(count!.account_count), Number(count!.transaction_count)];
    const exportedAt = count!.exported_at;
    await write(textOf([{ header: { workspace: { id, name }, exportedAt, accounts, transactions } }]));
    for await (const portion of accountsOf(tx, id)) await write(textOf(portion.map((account) => ({ account }))));

    const order = new ExportOrder();
    const written = { accounts, transactions: 0, transfers: 0 };
    for await (const portion of bookedTransactions(tx, id)) {
      const ready = portion.flatMap((transaction) => [...order.take(transaction)]);
      if (order.waiting > WAITING_MAX) throw gap(id, order);
      await write(textOf(ready.map((transaction) => ({ transaction }))));
      written.transactions += ready.length;
      for (const { content } of ready) written.transfers += content.transfers.length;
      onPortion(written.transactions, transactions);
    }
    if (order.waiting > 0) throw gap(id, order);
    await write(textOf([{ end: written }]));
    return written;
  };
  return database.transaction({ workspaces: [id] }, work, { snapshot: true });
}

async function* accountsOf(tx: Tx, workspaceId: number): AsyncGenerator<readonly ExportedAccount[], void, undefined> {
  let last = 0;
  let rows: readonly { readonly account: ExportedAccount }[];
  do {
    [rows] = await tx.flight([bind(ACCOUNTS, workspaceId, last, PORTION)] as const);
    last = rows.at(-1)?.account.id ?? last;
    yield rows.map(({ account }) => account);
  } while (rows.length === PORTION);
}

function textOf(lines: readonly ExportLine[]): string {
  return lines.map((line) => `${exportLine(line)}\n`).join('');
}

function gap(workspaceId: number, { waiting }: ExportOrder): ExportError {
  const what = waiting === 1 ? 'one transaction does' : `${waiting} transactions do`;
  return new ExportError(
    `The books of workspace ${workspaceId} are not in order: ${what} not follow what is there. ` +
      `Run banking verify --workspace ${workspaceId}.`,
  );
}
