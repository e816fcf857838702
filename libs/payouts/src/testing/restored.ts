import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import { reconcilePayouts, type ReconcileOptions } from '../reconcile-payouts.js';
import { SandboxRail } from '../sandbox-rail/sandbox-rail.js';
import { AMOUNT, NORTH, SOUTH, faults, openWorld, type World } from './world.js';

export const CREDITED = '50100123456789';
export const REJECTED = '50100123459001';
/** The events of a payment to `CREDITED`. */
export const EVENTS = ['ACSP', 'ACSP', 'ACCC'];

/** Books after a restore, and a network in a database of its own, which nothing restored. */
export class Restored {
  private constructor(
    readonly world: World,
    readonly network: FreshDatabase,
    readonly rail: SandboxRail,
  ) {}

  static async open(): Promise<Restored> {
    const world = await openWorld();
    const network = await freshDatabase();
    return new Restored(world, network, new SandboxRail(network.database));
  }

  reconcile(changes: Partial<ReconcileOptions> = {}) {
    const { world, rail } = this;
    return reconcilePayouts({ books: world.books, rail, workspaceIds: [NORTH, SOUTH], ...changes });
  }

  /** Submits as a worker did whose traces in the books are lost. */
  submitEarlier(key: string, account = CREDITED, amount = AMOUNT) {
    const payment = { key, amount, currency: 'USD', creditor: { name: 'Ravi Menon', account } };
    return this.rail.submit(payment, new AbortController().signal);
  }

  /** All events of the network happened, and were acknowledged after the backup. */
  async passDays(): Promise<void> {
    await this.network.owner.query(
      `update sandbox_rail_event set due_at = due_at - interval '1 day', acknowledged = true`,
    );
  }

  /** All events of the network happen now. */
  async passHour(): Promise<void> {
    await this.network.owner.query(`update sandbox_rail_event set due_at = due_at - interval '1 hour'`);
  }

  async payments() {
    return (await this.network.owner.query('select key, submissions from sandbox_rail_payment order by key')).rows;
  }

  async stateOf(id: number): Promise<unknown> {
    const { rows } = await this.world.owner.query(
      `select x.status, p.status as payout, p.tries,
              (select count(*)::int from transaction r where r.return_of = x.id) as returns,
              (select count(*)::int from remittance_event e join remittance m on m.id = e.remittance_id
               where m.transaction_id = x.id) as events
       from transaction x join payout p on p.transaction_id = x.id where x.id = $1`,
      [id],
    );
    return rows[0];
  }

  /** Verifies the books and removes both databases. */
  async close(): Promise<void> {
    const found = await faults(this.world);
    await this.world.close();
    await this.network.close();
    expect(found).toEqual([]);
  }
}
