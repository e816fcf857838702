import { bind, statement, type Database, type Tx } from '@banking/postgres';
import { HASH_CHECK, wrongHashes } from './verify-chain.js';

/** One thing about the books that is not as it must be. */
export interface Finding {
  readonly check: string;
  readonly workspaceId: number;
  /** The account or transaction at fault, and how. */
  readonly detail: string;
}

/** What a verification looked at. */
export interface Proof {
  readonly workspaces: number;
  readonly accounts: number;
  readonly transactions: number;
  readonly transfers: number;
  readonly findings: readonly Finding[];
}

interface Count {
  readonly account_count: bigint;
  readonly transaction_count: bigint;
  readonly transfer_count: bigint;
}

const COUNT = statement<Count>(
  'verify_count',
  `select (select count(*) from account where workspace_id = $1) as account_count,
          (select count(*) from transaction where workspace_id = $1) as transaction_count,
          (select count(*) from transfer where workspace_id = $1) as transfer_count`,
);

/** The questions whose every answer is a fault. Each row says what is wrong. */
const FAULTS = [
  {
    check: 'debits equal credits in every transaction and currency',
    rows: statement<{ detail: string }>(
      'verify_balanced',
      `select format('transaction %s is out of balance by %s in currency %s', transaction_id,
                     sum(case direction when 'credit' then amount else -amount end), currency_id) as detail
       from transfer where workspace_id = $1
       group by transaction_id, currency_id
       having sum(case direction when 'credit' then amount else -amount end) <> 0`,
    ),
  },
  {
    check: 'every transaction has transfers',
    rows: statement<{ detail: string }>(
      'verify_legs',
      `select format('transaction %s has no transfers', id) as detail
       from (select id from transaction where workspace_id = $1 except select transaction_id from transfer where workspace_id = $1) bare`,
    ),
  },
  {
    check: 'the balance of a customer account is the sum of its transfers, and its version their number',
    rows: statement<{ detail: string }>(
      'verify_balances',
      `select format('account %s holds %s at version %s; its transfers make %s and number %s',
                     a.id, a.balance, a.version, coalesce(t.total, 0), coalesce(t.legs, 0)) as detail
       from account a
       left join (
         select account_id, sum(case direction when 'credit' then amount else -amount end) as total, count(*) as legs
         from transfer where workspace_id = $1 group by account_id
       ) t on t.account_id = a.id
       where a.workspace_id = $1 and a.kind = 'customer' and (a.balance, a.version) <> (coalesce(t.total, 0), coalesce(t.legs, 0))`,
    ),
  },
  {
    check: 'versions run without a gap, and each balance continues the one before',
    rows: statement<{ detail: string }>(
      'verify_versions',
      `select format('transfer %s does not continue account %s', id, account_id) as detail
       from (
         select t.id, t.account_id, t.account_version, t.balance_after,
                row_number() over per_account as nth,
                sum(case t.direction when 'credit' then t.amount else -t.amount end) over per_account as total
         from transfer t join account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id)
         where t.workspace_id = $1 and a.kind = 'customer'
         window per_account as (partition by t.account_id order by t.account_version rows unbounded preceding)
       ) step
       where account_version is distinct from nth or balance_after is distinct from total`,
    ),
  },
  {
    check: 'no customer account is under its floor',
    rows: statement<{ detail: string }>(
      'verify_floors',
      `select format('transfer %s leaves account %s at %s, under its floor', t.id, a.id, t.balance_after) as detail
       from transfer t join account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id)
       where t.workspace_id = $1 and a.kind = 'customer' and t.balance_after < a.floor`,
    ),
  },
  {
    check: 'the books of a workspace sum to zero in every currency',
    rows: statement<{ detail: string }>(
      'verify_closed',
      `select format('currency %s is out by %s', currency_id, sum(held)) as detail
       from (
         select currency_id, balance as held from account where workspace_id = $1 and kind = 'customer'
         union all
         select t.currency_id, case t.direction when 'credit' then t.amount else -t.amount end
         from transfer t join account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id)
         where t.workspace_id = $1 and a.kind <> 'customer'
       ) book
       group by currency_id having sum(held) <> 0`,
    ),
  },
] as const;

/**
 * Proves the books of the given workspaces from their rows alone: nothing remembered is trusted, every hash is made again.
 *
 * One workspace is read in one snapshot, so that postings may go on meanwhile. Every question is one statement over the whole
 * workspace: large books want a database opened with a longer `statementTimeoutMs`.
 */
export async function verifyBooks(
  database: Database,
  workspaceIds: readonly number[],
  onWorkspace: (workspaceId: number) => void = () => {},
): Promise<Proof> {
  const findings: Finding[] = [];
  let accounts = 0;
  let transactions = 0;
  let transfers = 0;
  for (const workspaceId of workspaceIds) {
    const scope = { workspaces: [workspaceId] };
    const ask = [bind(COUNT, workspaceId), ...FAULTS.map(({ rows }) => bind(rows, workspaceId))] as const;
    const work = async (tx: Tx) => {
      const [[count], ...faults] = await tx.flight(ask);
      return { count, faults, wrong: await wrongHashes(tx, workspaceId) };
    };
    const { count, faults, wrong } = await database.transaction(scope, work, { snapshot: true });
    accounts += Number(count?.account_count);
    transactions += Number(count?.transaction_count);
    transfers += Number(count?.transfer_count);

    const note = (check: string, detail: string) => findings.push({ check, workspaceId, detail });
    faults.forEach((rows, index) => rows.forEach(({ detail }) => note(FAULTS[index]!.check, detail)));
    wrong.forEach((detail) => note(HASH_CHECK, detail));
    onWorkspace(workspaceId);
  }
  return { workspaces: workspaceIds.length, accounts, transactions, transfers, findings };
}

/** What `verifyBooks` proves, for whoever prints it. */
export const CHECKS: readonly string[] = [...FAULTS.map(({ check }) => check), HASH_CHECK];
