import { Refusal, type Corridor } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';
import { countryOf } from '@banking/reference';
import { currencyJson, resource } from '../resource-json.js';

const corridorJson = `json_build_object('id', k.id, 'destinationCountry', k.destination_country,
  'destinationCurrencyID', k.destination_currency_id, 'limitCurrencyID', k.limit_currency_id,
  'payoutMethod', k.payout_method, 'beneficiaryAccountType', k.beneficiary_account_type,
  'routingCodeType', k.routing_code_type, 'deliveryTAT', k.delivery_tat,
  'minimumAmount', k.minimum_amount::text, 'maximumAmount', k.maximum_amount::text, 'enabled', k.enabled,
  'createdAt', rfc3339(k.created_at), 'updatedAt', rfc3339(k.updated_at),
  'edges', json_build_object('destinationCurrency', ${currencyJson('d')}, 'limitCurrency', ${currencyJson('l')}))`;

const LIST_CORRIDORS = sqlStatement<{ corridors: readonly Corridor[] }>(
  'list_corridors',
  `select coalesce(json_agg(${resource(corridorJson)} order by k.id), '[]') as corridors
   from corridor k
   join currency d on d.id = k.destination_currency_id
   join currency l on l.id = k.limit_currency_id
   where k.destination_country = $1`,
);

/**
 * The list is empty for a known country without corridors.
 *
 * @param country ISO 3166-1 alpha-2 or alpha-3, in any case
 * @throws Refusal `country_unknown`
 */
export async function listCorridors(database: Database, country: string): Promise<readonly Corridor[]> {
  const known = countryOf(country);
  if (!known) throw new Refusal('country_unknown');
  const row = await database.read({}, bind(LIST_CORRIDORS, known.alpha2));
  return row?.corridors ?? [];
}
