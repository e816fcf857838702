import { type ExportProof, proveExport } from '@banking/domain/proof';
import { parseAmount } from '@banking/domain';
import { openBooks, post, postDeposits, requirePosted, type Proposal } from '@banking/ledger';
import { exportBooks } from './export-books.js';
import { demoDatabase } from '@banking/operations/testing';
import { keepRows, reasonOf } from '@banking/postgres/testing';

let world: Awaited<ReturnType<typeof demoDatabase>>;
let restore: () => Promise<void>;
let northwind: { id: number; name: string };

beforeAll(async () => {
  world = await demoDatabase();
  restore = await keepRows(world.owner);
  northwind = { id: world.demo.workspaces['Northwind Trading']!, name: 'Northwind Trading' };
});
afterEach(() => restore());
afterAll(() => world.close());

/** Exports a workspace and returns the written pieces. Runs `meanwhile` during the first write. */
async function exported(
  workspace = northwind,
  meanwhile: () => Promise<unknown> = async () => {},
  onRange?: () => Promise<void>,
) {
  const pieces: string[] = [];
  const write = async (text: string) => {
    if (pieces.length === 0) await meanwhile();
    pieces.push(text);
  };
  const ranges = onRange && { rangeRows: 2, onRange };
  const end = await exportBooks(world.database, workspace, write, ranges);
  return { end, pieces };
}

const transactionLines = (text: string) => text.split('\n').filter((line) => line.startsWith('{"transaction":'));

function proofOf(pieces: readonly string[]): Promise<ExportProof> {
  return proveExport(pieces.join('').trimEnd().split('\n'));
}

/** One euro that arrives on Northwind's account. */
function euro(): Proposal {
  const leg = { currencyId: 978, amount: parseAmount('1.00', 'EUR'), type: 'funding' };
  const legs = [
    { ...leg, account: world.demo.accounts['Northwind Trading EUR']!, direction: 'credit' as const },
    { ...leg, account: 'settlement' as const, direction: 'debit' as const },
  ];
  return { entries: [{ workspaceId: northwind.id, status: 'completed', legs }] };
}

async function posted(books: Parameters<typeof post>[0], ...proposals: readonly Proposal[]): Promise<void> {
  (await post(books, proposals, postDeposits)).forEach(requirePosted);
}

describe('an export of the books', () => {
  it('contains the rows of the database, and the domain package alone can prove it', async () => {
    for (const [name, id] of Object.entries(world.demo.workspaces)) {
      const { end, pieces } = await exported({ id, name });
      const proof = await proofOf(pieces);

      const { rows } = await world.owner.query(
        `select a.id::int as id, a.kind, c.code as "currencyCode", a.version::int as version, encode(a.head, 'hex') as head,
                coalesce((select sum(case direction when 'credit' then amount else -amount end)
                          from leg t where t.account_id = a.id), 0)::text as balance
         from account a join currency c on c.id = a.currency_id where a.workspace_id = $1 order by a.id`,
        [id],
      );
      expect(proof.accounts.map((account) => ({ ...account, balance: account.balance.toString() }))).toEqual(rows);
      const { accounts, ...counts } = end;
      expect(proof).toMatchObject({ workspace: { id, name }, ...counts });
      expect(accounts).toBe(rows.length);
    }
  });

  it('is as of its start if money moves while it is written', async () => {
    const before = await exported();
    const during = await exported(northwind, () => posted(world.books, euro()));
    const after = await exported();

    expect(during.end).toEqual(before.end);
    expect((await proofOf(during.pieces)).accounts).toEqual((await proofOf(before.pieces)).accounts);
    expect(after.end.transactions).toBe(before.end.transactions + 1);
  });

  it('is provable and as of its start if money moves between its ranges', async () => {
    const other = openBooks(world.database);
    await posted(other, euro());
    await posted(world.books, euro());
    const before = await exported();
    let ranges = 0;

    const during = await exported(northwind, undefined, async () => {
      ranges += 1;
      // Their ids are below and above the last id at the start.
      await posted(other, euro());
      await posted(world.books, euro());
    });

    expect(ranges).toBeGreaterThan(10);
    expect(during.end).toEqual(before.end);
    expect(await proofOf(during.pieces)).toEqual({
      ...(await proofOf(before.pieces)),
      exportedAt: expect.any(String) as string,
    });
  });

  it('has no database transaction open while it is written', async () => {
    const open: number[] = [];
    await exportBooks(world.database, northwind, async () => {
      const { rows } = await world.owner.query<{ open: number }>(
        `select count(*)::int as open from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null and backend_type = 'client backend'`,
      );
      open.push(rows[0]!.open);
    });

    expect(open.length).toBeGreaterThan(3);
    expect(new Set(open)).toEqual(new Set([0]));
  });

  it('has the transactions of two processes in the order of the account, not of ids', async () => {
    const other = openBooks(world.database);
    await posted(other, euro());
    await posted(world.books, euro());
    await posted(other, euro());
    await posted(world.books, euro());

    const { pieces } = await exported();

    const ids = transactionLines(pieces.join('')).map((line) => Number(/"transactionId":(\d+)/.exec(line)![1]));
    expect(ids).not.toEqual(ids.toSorted((left, right) => left - right));
    expect((await proofOf(pieces)).transactions).toBe(ids.length);
  });

  it('is written in batches', async () => {
    const many = Array.from({ length: 1_200 }, () => euro());
    await posted(world.books, ...many);
    // Autovacuum does this after some time.
    await world.owner.query('analyze');

    const { end, pieces } = await exported();

    const [header, accounts, recipients] = pieces.map((piece) => piece.split('\n').length - 1);
    const [first, second] = pieces.slice(-3).map((piece) => transactionLines(piece).length);
    const last = pieces.at(-1)!.split('\n').length - 1;
    expect({ header, accounts, recipients, first, last }).toEqual({
      ...{ header: 1, accounts: end.accounts, recipients: end.recipients, first: 1_000, last: 1 },
    });
    expect(second).toBe(end.transactions - 1_000);
    expect((await proofOf(pieces)).transactions).toBe(end.transactions);
  });

  it('fails if a transaction is missing', async () => {
    const { internal } = world.demo.transfers;
    await world.owner.query(
      `begin; set local session_replication_role = replica; delete from transfer where id = ${internal}; commit`,
    );

    expect(await reasonOf(exported())).toMatch(
      /^The books of workspace \d+ are not in order: (one transaction does|\d+ transactions do) not follow what is there\. Run/,
    );
  });

  it('contains one workspace only', async () => {
    const id = world.demo.workspaces['Southwind Imports']!;
    const { pieces } = await exported({ id, name: 'Southwind Imports' });

    expect(new Set([...pieces.join('').matchAll(/"workspaceId":(\d+)/g)].map(([, of]) => Number(of)))).toEqual(
      new Set([id]),
    );
  });
});
