import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ExportLine, exportLine, type TransactionContent, transactionHash } from '@banking/domain/proof';
import { type Run, World } from './world.js';

/** The demo data with keys, an anchor, and exports from before and after it. Money has arrived after the anchor. */
export interface AnchoredBooks {
  readonly world: World;
  /** A file of the spec. */
  readonly path: (name: string) => string;
  /** Runs a command that must succeed. */
  readonly run: (...args: readonly string[]) => Promise<void>;
  /** Records the audit trails, as the worker does. */
  readonly record: () => Promise<void>;
  /** Proves exports against an anchor. */
  readonly since: (anchor: string, ...files: readonly string[]) => Promise<Run>;
  /** Of workspace 1: the customer account with the most transfers, and one that was funded only. */
  readonly busy: number;
  readonly funded: number;
  readonly close: () => Promise<void>;
}

export async function anchoredBooks(): Promise<AnchoredBooks> {
  const world = new World();
  const folder = mkdtempSync(join(tmpdir(), 'banking-since-'));
  const path = (name: string) => join(folder, name);
  const run = async (...args: readonly string[]) => {
    const { exitCode, stderr } = await world.run(args);
    if (exitCode !== 0) throw new Error(`banking ${args[0]} ended with ${exitCode}: ${stderr}`);
  };
  for (const name of ['anchor', 'other']) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    writeFileSync(path(`${name}.key`), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    writeFileSync(path(`${name}.pub`), publicKey.export({ type: 'spki', format: 'pem' }));
  }
  await world.openDemo();
  const [most] = await world.query(
    `select id::int from account where workspace_id = 1 and kind = 'customer' order by version desc limit 1`,
  );
  const [least] = await world.query(
    `select id::int from account where workspace_id = 1 and version = 1 and exists (
       select from transfer where account_id = account.id and type = 'funding') order by id limit 1`,
  );
  const [busy, funded] = [Number(most!['id']), Number(least!['id'])];
  await run('export', '--workspace', '1', '--out', path('before.jsonl'));
  await run('anchor', '--key', path('anchor.key'), '--out', path('anchor.jsonl'));
  await run('fund', String(busy), '100');
  await run('export', '--workspace', '1', '--out', path('books.jsonl'));
  await run('export', '--workspace', '2', '--out', path('books-2.jsonl'));
  return {
    ...{ world, path, run, busy, funded },
    record: async () => {
      await world.query(
        `select set_config('app.workspaces', (select array_agg(id)::text from banking.workspace), false), banking.record_audit(100000)`,
      );
    },
    since: (anchor, ...files) =>
      world.run(['prove', '--since', path(anchor), '--public-key', path('anchor.pub'), ...files.map(path)]),
    close: async () => {
      rmSync(folder, { recursive: true });
      await world.close();
    },
  };
}

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
