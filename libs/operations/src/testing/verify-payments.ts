import { verifyPayments as verify } from '../verification/verify-payments.js';
import { REQUIRED_EVENTS } from '../verification/verify-events.js';
import type { VerifyOptions } from '../verification/verify-ranges.js';
import { readDemoBookings } from '../demo/index.js';
import type { Database } from '@banking/postgres';

/** `verifyPayments` for a database with demo data, which has bookings without orders. */
export async function verifyPayments(
  database: Database,
  workspaceIds: readonly number[],
  options: VerifyOptions = {},
): ReturnType<typeof verify> {
  const bookedWithoutOrder = await readDemoBookings(database);
  return verify(database, workspaceIds, { ...options, bookedWithoutOrder });
}

/** Its findings, but for missing events: for a spec that plants rows, which have none. */
export async function verifyPlanted(database: Database, workspaceIds: readonly number[]): ReturnType<typeof verify> {
  return (await verifyPayments(database, workspaceIds)).filter(({ check }) => check !== REQUIRED_EVENTS.check);
}
