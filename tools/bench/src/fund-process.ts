import { parseAmount } from '@banking/domain';
import { openDeployment } from '@banking/deployment';
import { type Entry, post, requirePosted } from '@banking/ledger';
import { bind, sqlStatement } from '@banking/postgres';

/** Transactions of one database transaction, two transfers each. */
const BATCH = 500;
const WORKSPACE = 1;

const ACCOUNTS = sqlStatement<{ id: bigint; currency_id: number }>(
  'fund_accounts',
  `select id, currency_id from account where workspace_id = $1 and kind = 'customer' and status = 'enabled' order by id limit 8`,
);

/** Posts money that arrives on accounts of the demo data: a number of transfers in the database of DATABASE_URL. For `npm run recovery`. */
async function main(databaseUrl: string, transfers: number): Promise<void> {
  const deployment = await openDeployment({ databaseUrl, dataDir: '', isSandbox: true, prepare: false });
  try {
    const { books, database } = deployment;
    const [accounts] = await database.pipeline({ workspaces: [WORKSPACE] }, [bind(ACCOUNTS, WORKSPACE)] as const);
    const entries = accounts.map(({ id, currency_id }): Entry => {
      const movement = { currencyId: currency_id, amount: parseAmount('1.00', 'USD'), type: 'funding' };
      const legs: Entry['legs'] = [
        { ...movement, account: Number(id), direction: 'credit' },
        { ...movement, account: 'settlement', direction: 'debit' },
      ];
      return { workspaceId: WORKSPACE, status: 'completed', legs };
    });
    for (let posted = 0; posted < transfers; posted += 2 * BATCH) {
      const proposals = Array.from({ length: BATCH }, (_, index) => ({ entries: [entries[index % entries.length]!] }));
      (await post(books, proposals)).forEach(requirePosted);
    }
  } finally {
    await deployment.close();
  }
}

void main(process.env['DATABASE_URL'] as string, Number(process.argv[2])).catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
