import { Refusal, type Corridor, type CurrencyId, type TransferAmount } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { countryOf } from '@banking/reference';
import type { Reference } from '../reference/reference.js';
import type { Reading } from '../resources/reading.js';
import { timestampOf } from '../resources/timestamp-of.js';

interface CorridorRow {
  readonly id: bigint;
  readonly destination_country: string;
  readonly destination_currency_id: number;
  readonly limit_currency_id: number;
  readonly payout_method: string;
  readonly beneficiary_account_type: string;
  readonly routing_code_type: string;
  readonly delivery_tat: string;
  readonly minimum_amount: string;
  readonly maximum_amount: string;
  readonly enabled: boolean;
  readonly created_at: string;
  readonly updated_at: string;
}

const LIST_CORRIDORS = sqlStatement<CorridorRow>(
  'list_corridors',
  `select id, destination_country, destination_currency_id, limit_currency_id, payout_method, beneficiary_account_type,
          routing_code_type, delivery_tat, minimum_amount::text, maximum_amount::text, enabled, created_at, updated_at
   from corridor where destination_country = $1 order by id`,
);

/**
 * The list is empty for a known country without corridors.
 *
 * @param hasPayoutNetwork without a network, no corridor is enabled
 * @param country ISO 3166-1 alpha-2 or alpha-3, in any case
 * @throws Refusal `country_unknown`
 */
export async function listCorridors(
  { database, reference }: Reading,
  hasPayoutNetwork: boolean,
  country: string,
): Promise<readonly Corridor[]> {
  const known = countryOf(country);
  if (!known) throw new Refusal('country_unknown');
  const [rows] = await database.pipeline({}, [bind(LIST_CORRIDORS, known.alpha2)] as const);
  return reference.compose((current) =>
    rows.map((row) => composeCorridor(current, { ...row, enabled: row.enabled && hasPayoutNetwork })),
  );
}

function composeCorridor(reference: Reference, row: CorridorRow): Corridor {
  return {
    id: Number(row.id) as Corridor['id'],
    destinationCountry: row.destination_country,
    destinationCurrencyID: row.destination_currency_id as CurrencyId,
    limitCurrencyID: row.limit_currency_id as CurrencyId,
    payoutMethod: row.payout_method,
    beneficiaryAccountType: row.beneficiary_account_type,
    routingCodeType: row.routing_code_type,
    deliveryTAT: row.delivery_tat,
    minimumAmount: row.minimum_amount as TransferAmount,
    maximumAmount: row.maximum_amount as TransferAmount,
    enabled: row.enabled,
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
    edges: {
      destinationCurrency: reference.currency(row.destination_currency_id),
      limitCurrency: reference.currency(row.limit_currency_id),
    },
  };
}
