import { Worker } from '@banking/work-queue';
import { DEMO_RATES } from '@banking/rates';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { workOf } from '../worker/start-banking-worker.js';
import { orderWorld } from './order-world.js';
import { readEvents, recordAll, verifyEvents, type EventRow } from './verify-events.js';

/** An order world with a worker, whose events are recorded when a spec reads them. */
export async function eventWorld() {
  const given = await orderWorld();
  const { world, ada } = given;
  const service = new LedgerBankingService(
    world.database,
    world.books,
    { rates: DEMO_RATES, hasPayoutNetwork: true },
    true,
  );
  const errors: unknown[] = [];
  const settings = { orders: service.orders, sandbox: true, onError: (error: unknown) => errors.push(error) };
  const worker = new Worker(workOf(world, settings));
  await recordAll(world.database);
  return {
    ...given,
    service,
    /** Ada as the only actor of events. */
    byAda: [JSON.stringify({ id: ada.actor, type: 'user' })],
    /** The events of what a call changes. */
    async eventsOf(call: () => Promise<unknown>): Promise<readonly EventRow[]> {
      await recordAll(world.database);
      const last = (await readEvents(world.owner)).at(-1)?.id;
      await call();
      await recordAll(world.database);
      return readEvents(world.owner, last);
    },
    /** Does due work. The network reports all its events at once. */
    async work(): Promise<void> {
      do {
        await world.owner.query(
          'update sandbox_rail_event set due_at = now(), handed_until = null where not acknowledged',
        );
      } while ((await worker.step()) > 0);
    },
    async expectVerified(): Promise<void> {
      expect(await verifyEvents(world)).toEqual([]);
      expect(errors).toEqual([]);
    },
  };
}

/** In short: the type of each event, and the step of the status. */
export const stepsOf = (events: readonly EventRow[]): string[] =>
  events.map(({ type, changes: { status } }) => (status ? `${type} ${status.before}>${status.after}` : type));

/** The actors of events, each once. */
export const actorsOf = (events: readonly EventRow[]): string[] => [
  ...new Set(events.map(({ actor }) => JSON.stringify(actor))),
];
