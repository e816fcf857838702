import type { AccountId, WorkspaceId } from '@banking/domain';
import { booksAs } from '@banking/ledger';
import { WORKER_ROLE } from '@banking/postgres';
import { recordChanges } from '../events/record-changes.js';
import { BookDeposits } from '../deposits/book-deposits.js';
import type { ReceivingAccount } from '../deposits/match-entry.js';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { expectBooksInOrder } from './order-world.js';
import { demoDatabase } from './test-databases.js';

/** The German bank account of the specs. */
export const BANK_ACCOUNT = 'DE89370400440532013000';

/** What a spec says of an entry; the rest is that of a booked credit of 12.50 EUR. */
export interface PlantedEntry {
  /** The rail that has read it. Default: that which has the bank account. */
  readonly rail?: string;
  readonly direction?: 'credit' | 'debit';
  /** In minor units. */
  readonly amount?: bigint | number;
  readonly currency?: string;
  readonly status?: 'pending' | 'booked';
  readonly isReversal?: boolean;
  readonly creditorReference?: string;
  readonly remittance?: string;
  readonly endToEndId?: string;
  readonly bankReference?: string;
  readonly batchReference?: string;
  readonly uetr?: string;
  /** The file that it was read in. Default: none, as of demo data. */
  readonly fileId?: bigint;
  readonly returnReason?: string;
  readonly outcome?: string;
}

/** An account of a customer. */
export interface OpenedAccount {
  readonly workspaceId: WorkspaceId;
  readonly id: AccountId;
  readonly code: string;
}

export type DepositWorld = Awaited<ReturnType<typeof depositWorld>>;

/** The demo data, accounts of two workspaces in EUR, a suspense account, and a bank account whose entries a spec writes. */
export async function depositWorld() {
  const world = await demoDatabase();
  const { owner, demo, database } = world;
  const north = demo.workspaces['Northwind Trading'] as WorkspaceId;
  const south = demo.workspaces['Southwind Imports'] as WorkspaceId;
  const service = new LedgerBankingService(database, world.books, {}, true);
  const { rows } = await owner.query<{ id: bigint; code: string }>(
    'select p.id, c.code from product p join currency c on c.id = p.currency_id',
  );
  const products = new Map(rows.map(({ id, code }) => [code, Number(id)]));
  const open = async (workspaceId: WorkspaceId, currency = 'EUR'): Promise<OpenedAccount> => {
    const productID = products.get(currency) as never;
    const { resource } = await service.openAccount({ workspaceId }, { productID });
    return { workspaceId, id: resource.id, code: resource.code ?? '' };
  };
  const suspense = await open(north);
  const receiving: readonly ReceivingAccount[] = [
    {
      ...{ rail: 'bank-a', currency: 'EUR', id: BANK_ACCOUNT, isIban: true, bic: 'COBADEFFXXX', holder: 'Harbour' },
      suspenseAccount: suspense.code,
    },
  ];
  const errors: string[] = [];
  const asWorker = booksAs(world.books, WORKER_ROLE);
  const workerOf = (accounts = receiving) =>
    new BookDeposits({
      books: asWorker,
      receiving: accounts,
      onError: (error) => errors.push((error as Error).message),
    });
  let entries = 0;
  return {
    ...world,
    ...{ north, south, service, suspense, receiving, errors, open, workerOf, asWorker },
    /** Writes an entry, as a file of the bank states it. */
    async entry(planted: PlantedEntry = {}): Promise<number> {
      const { direction = 'credit', amount = 1250, currency = 'EUR', status = 'booked', isReversal = false } = planted;
      entries += 1;
      const { rows } = await owner.query<{ id: bigint }>(
        `insert into bank_entry (rail, bank_account, identity, direction, amount, currency, status, is_reversal, booked_on, value_on,
           creditor_reference, remittance, end_to_end_id, bank_reference, return_reason, outcome, party,
           batch_reference, uetr, file_id)
         values ($15, $1, $2, $3, $4, $5, $6, $7, '2026-11-26', '2026-11-27', $8, $9, $10, $11, $12, $13, $14, $16, $17, $18) returning id`,
        [
          ...[BANK_ACCOUNT, `entry-${entries}`, direction, String(amount), currency, status, isReversal],
          ...[planted.creditorReference, planted.remittance, planted.endToEndId, planted.bankReference],
          ...[
            planted.returnReason,
            planted.outcome,
            JSON.stringify({ name: 'Ada Payer', account: 'DE02120300000000202051' }),
            planted.rail ?? 'bank-a',
            planted.batchReference,
            planted.uetr,
            planted.fileId,
          ],
        ],
      );
      return Number(rows[0]!.id);
    },
    /** The bank books an entry that it announced. */
    bookEntry: (id: number) => owner.query(`update bank_entry set status = 'booked' where id = $1`, [id]),
    /** Runs the chore until nothing is left to do. */
    async work(chore = workerOf()): Promise<void> {
      while ((await chore.run()) > 0);
    },
    async deposits() {
      const { rows } = await owner.query<{
        id: number;
        workspace: number;
        account: number;
        entry: number;
        status: string;
        amount: string;
        transaction: number | null;
      }>(
        `select id::int, workspace_id::int as workspace, account_id::int as account, entry_id::int as entry, status, amount::text,
                transaction_id::int as transaction from deposit order by id`,
      );
      return rows;
    },
    /** The deposit of an entry that has not been assigned. */
    async depositOf(entryId: number) {
      return (await this.deposits()).findLast(({ entry, status }) => entry === entryId && status !== 'assigned');
    },
    async balanceOf({ workspaceId, id }: OpenedAccount): Promise<unknown> {
      return (await service.getAccount({ workspaceId }, { accountId: id })).edges.balances[0]?.amount;
    },
    /** What entries, less what an operator sent back, and books say of the money of deposits, in minor units: all are the same. */
    async sums() {
      const { rows } = await owner.query<{ entries: string; deposits: string; credits: string; twice: string }>(
        `select
           (coalesce((select sum(case direction when 'credit' then amount else -amount end) from bank_entry where outcome = 'deposit'), 0)
             - coalesce((select sum(amount) from deposit
                 where status = 'returned' and transaction_id is not null and reversal_id is null), 0))::text as entries,
           (select coalesce(sum(amount), 0) from deposit where status in ('booked', 'unmatched'))::text as deposits,
           (select coalesce(sum(case t.direction when 'credit' then t.amount else -t.amount end), 0) from transfer t
              join transaction x on x.workspace_id = t.workspace_id and x.id = t.transaction_id
              where coalesce(x.return_of, x.id) in (select transaction_id from deposit))::text as credits,
           (select count(*) from (select entry_id from deposit where status <> 'assigned' and transaction_id is not null group by entry_id having count(*) > 1) d)::text as twice`,
      );
      return rows[0]!;
    },
    async expectInOrder(): Promise<void> {
      while (((await recordChanges(asWorker.database)) ?? 0) > 0);
      const all = Object.values(demo.workspaces);
      await expectBooksInOrder(database, all);
      const { entries: stated, deposits, credits, twice } = await this.sums();
      expect({ deposits, credits, twice }).toEqual({ deposits: stated, credits: stated, twice: '0' });
    },
  };
}
