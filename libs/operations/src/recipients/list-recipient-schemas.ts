import { Refusal, type CorridorQuery, type RecipientSchema } from '@banking/domain';
import type { Database } from '@banking/postgres';
import { corridorChoice, corridorsRead, schemasOf } from './corridor-schemas.js';

/** @throws Refusal `corridor_not_found` */
export async function listRecipientSchemas(
  database: Database,
  query: CorridorQuery,
): Promise<readonly RecipientSchema[]> {
  const choice = corridorChoice(query);
  if (!choice) throw new Refusal('corridor_not_found');
  const [corridors] = await database.pipeline({}, [corridorsRead(choice)] as const);
  return schemasOf(choice, corridors);
}
