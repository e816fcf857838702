import {
  type Account,
  type AccountId,
  fromBalanceAmount,
  type Order,
  type PlaceOrderInput,
  type RecipientId,
  type TransferAmount,
  type WorkspaceId,
} from '@banking/domain';
import { sandboxRails } from '@banking/payouts';
import { DEMO_RATES } from '@banking/reference';
import { Worker } from '@banking/work-queue';
import { Arrivals } from '../crossings/arrivals.js';
import { CROSSING, crossingHandler, type CrossingPort } from '../crossings/crossings.js';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { workOf } from '../worker/start-banking-worker.js';
import { demoDatabase } from './test-databases.js';

export const amountOf = (minor: bigint | number): TransferAmount => minor.toString() as TransferAmount;

/** A crossing with its arrivals, by the rows of both databases. */
export interface SeenCrossing {
  readonly status: string;
  readonly transaction: string;
  readonly returns: number;
  /** Outcomes of its arrivals. */
  readonly arrivals: readonly string[];
}

async function openSide(number: 0 | 1) {
  const world = await demoDatabase();
  const workspaceId = world.demo.workspaces['Northwind Trading'] as WorkspaceId;
  await world.owner.query('insert into cell_identity (number, name) values ($1, $2) on conflict do nothing', [
    number,
    number ? 'b' : 'home',
  ]);
  await world.owner.query('insert into cell_workspace (workspace_id) select id from workspace on conflict do nothing');
  return { world, workspaceId };
}

/**
 * Two databases with the demo data: the payers are in one, and the payees in the other. Both have the same ids and the codes of the demo
 * data; an account that is opened here has a code that the other database does not have.
 */
export async function crossingWorld() {
  const [payers, payees] = [await openSide(0), await openSide(1)];
  const asked: string[] = [];
  const currencyElsewhere = async (accountCode: string) => {
    asked.push(accountCode);
    const { rows } = await payees.world.owner.query<{ currency_id: number }>(
      'select currency_id from account_code where code = $1',
      [accountCode],
    );
    return rows[0]?.currency_id;
  };
  const serviceOf = ({ world }: typeof payers) =>
    new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES }, true, {
      newCode: () => `BA00${Math.random().toString().slice(2, 16)}`,
      currencyElsewhere,
    });
  const [paying, paid] = [serviceOf(payers), serviceOf(payees)];
  const arrivals = new Arrivals(payees.world.books);
  const port: CrossingPort = { arrive: (crossing) => arrivals.arrive(payees.workspaceId, crossing) };
  const scope = { workspaceId: payers.workspaceId };
  const errors: unknown[] = [];

  const accountOf = async (service: LedgerBankingService, product: number, funds: bigint): Promise<Account> => {
    const { resource } = await service.openAccount(scope, { productID: product as never });
    if (funds > 0n) await service.fundAccount(scope, { accountId: resource.id, amount: amountOf(funds) });
    return resource;
  };
  return {
    ...{ payers, payees, paying, paid, port, scope, errors },
    /** The codes whose currency the payers' database has asked the other for. */
    asked,
    payer: (funds: bigint, product = 1) => accountOf(paying, product, funds),
    payee: (product = 1) => accountOf(paid, product, 0n),
    recipientFor: async ({ code }: Account): Promise<RecipientId> =>
      (await paying.addInternalRecipient(scope, { accountCode: code! })).resource.id,
    order: async (
      accountId: AccountId,
      recipientID: RecipientId,
      more: Partial<PlaceOrderInput> = {},
    ): Promise<Order> =>
      (await paying.placeOrder(scope, { accountId, recipientID, amount: amountOf(100), type: 'instant', ...more }))
        .resource,
    balanceOf: async (service: LedgerBankingService, accountId: AccountId): Promise<bigint> =>
      fromBalanceAmount((await service.getAccount(scope, { accountId })).edges.balances[0]!.amount),
    /** A worker that runs crossings when the spec calls `step`. */
    worker: (through: CrossingPort = port, onError: (error: unknown) => void = (error) => errors.push(error)) =>
      new Worker({
        database: payers.world.database,
        handlers: { [CROSSING]: crossingHandler({ books: payers.world.books, port: through }) },
        onError,
      }),
    /** Does all due work of the payers, runs of orders included. */
    async settle() {
      const onError = (error: unknown) => errors.push(error);
      const settings = { orders: paying.orders, rails: sandboxRails, crossings: port, onError };
      const worker = new Worker(workOf(payers.world, settings));
      while ((await worker.step()) > 0);
    },
    /** Makes work that waits due, and ends all leases. */
    async passTime() {
      await payers.world.owner.query(
        `update work set due_at = now() - interval '1 minute', leased_until = now() - interval '1 minute'
         where kind = '${CROSSING}' and parked_at is null`,
      );
    },
    work: async () =>
      (
        await payers.world.owner.query<object>(
          `select tries, delays, parked_at, reason from work where kind = '${CROSSING}'`,
        )
      ).rows,
    async crossings(): Promise<readonly SeenCrossing[]> {
      const { rows } = await payers.world.owner.query<
        Omit<SeenCrossing, 'arrivals'> & { id: bigint; key_nonce: string }
      >(
        `select c.transaction_id as id, c.key_nonce, c.status, x.status as transaction,
                (select count(*)::int from transaction r where r.return_of = x.id) as returns
         from crossing c join transaction x on x.id = c.transaction_id order by c.transaction_id`,
      );
      const arrived = await payees.world.owner.query<{ id: bigint; key_nonce: string; outcome: string }>(
        'select origin_transaction_id as id, key_nonce, outcome from arrival',
      );
      return rows.map(({ id, key_nonce, ...crossing }) => ({
        ...crossing,
        arrivals: arrived.rows.flatMap((row) => (row.id === id && row.key_nonce === key_nonce ? [row.outcome] : [])),
      }));
    },
    /** The sum of the balances of customers in both databases, by the id of the currency. */
    async money(): Promise<Readonly<Record<string, bigint>>> {
      const sums: Record<string, bigint> = {};
      for (const { world } of [payers, payees]) {
        const { rows } = await world.owner.query<{ currency_id: number; sum: string }>(
          `select currency_id, sum(balance)::text as sum from account where kind = 'customer' group by currency_id`,
        );
        for (const { currency_id, sum } of rows) sums[currency_id] = (sums[currency_id] ?? 0n) + BigInt(sum);
      }
      return sums;
    },
    /** Credits less debits of `interworkspace` in one database, by the id of the currency. */
    async interworkspace({ world }: typeof payers): Promise<Readonly<Record<string, bigint>>> {
      const { rows } = await world.owner.query<{ currency_id: number; sum: string }>(
        `select t.currency_id, sum(case t.direction when 'credit' then t.amount else -t.amount end)::text as sum
         from leg t join account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id)
         where a.kind = 'interworkspace' group by t.currency_id`,
      );
      return Object.fromEntries(rows.map(({ currency_id, sum }) => [currency_id, BigInt(sum)]));
    },
    async close() {
      await payers.world.close();
      await payees.world.close();
    },
  };
}

export type CrossingWorld = Awaited<ReturnType<typeof crossingWorld>>;
