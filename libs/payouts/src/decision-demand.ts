import type { Timestamp } from '@banking/domain';
import { bind, type Database, sqlStatement } from '@banking/postgres';

const DEMAND_DECISIONS = sqlStatement(
  'demand_decisions',
  'insert into decision_demand (demanded_at) values (statement_timestamp()) on conflict do nothing',
);
const IS_DEMANDED = sqlStatement<{ id: bigint }>(
  'is_decision_demanded',
  'select id from decision_demand where ended_at is null',
);
const READ_DEMAND = sqlStatement<{ id: number; demandedAt: Timestamp }>(
  'read_decision_demand',
  'select id::float8 as id, rfc3339(demanded_at) as "demandedAt" from decision_demand where ended_at is null',
);
const END_DEMAND = sqlStatement<{ demandedAt: Timestamp }>(
  'end_decision_demand',
  `update decision_demand set ended_at = statement_timestamp(), note = $2
   where id = $1 and ended_at is null returning rfc3339(demanded_at) as "demandedAt"`,
);

/**
 * Demands a decision of every payout that is made from now on, by any process. A restart does not end the demand.
 *
 * @throws Refusal `unavailable`
 */
export async function demandDecisions(database: Database): Promise<void> {
  const demanded = await database.read({}, bind(IS_DEMANDED));
  if (!demanded) await database.pipeline({}, [bind(DEMAND_DECISIONS)]);
}

/** The demand that is open. Undefined if decisions are not demanded. */
export const readDecisionDemand = (
  provisioning: Database,
): Promise<{ readonly id: number; readonly demandedAt: Timestamp } | undefined> =>
  provisioning.read({}, bind(READ_DEMAND));

/**
 * Ends a demand: payouts that are made from now on need no decision. Those that wait for one still need it.
 *
 * @param provisioning the database as the provisioning role: the service itself must not end the demand
 * @returns since when decisions were demanded; undefined if the demand is not open
 */
export async function endDecisionDemand(
  provisioning: Database,
  demandId: number,
  note: string,
): Promise<{ readonly demandedAt: Timestamp } | undefined> {
  const [[ended]] = await provisioning.pipeline({}, [bind(END_DEMAND, demandId, note)] as const);
  return ended;
}
