import {
  type Corridor,
  type CorridorFee,
  type CorridorQuery,
  type CurrencyId,
  type Product,
  type RecipientSchema,
  Refusal,
  type TransferAmount,
} from '@banking/domain';
import type { PayoutDestination, RailRouting } from '@banking/payouts';
import { bind, type BoundStatement, type Database, sqlStatement } from '@banking/postgres';
import { type BeneficiarySchema, type CorridorRoute, countryOf, recipientSchemasOf } from '@banking/reference';
import type { Purposes, Reference, ReferenceData } from '../reference/reference.js';
import { timestampOf } from '../resources/columns.js';
import type { Reading } from '../resources/reading.js';

interface CorridorRow {
  readonly id: bigint;
  readonly destination_country: string;
  readonly destination_currency_id: number;
  readonly destination_currency: string;
  readonly limit_currency_id: number;
  readonly payout_method: string;
  readonly beneficiary_account_type: string;
  readonly routing_code_type: string;
  readonly delivery_tat: string;
  readonly minimum_amount: string;
  readonly maximum_amount: string;
  /** Null if payments are free, as the next two. */
  readonly fee_fixed_amount: string | null;
  readonly fee_parts_per_million: number | null;
  readonly fee_minimum_amount: string | null;
  readonly fee_maximum_amount: string | null;
  readonly enabled: boolean;
  readonly created_at: string;
  readonly updated_at: string;
}

const LIST_CORRIDORS = sqlStatement<CorridorRow>(
  'list_corridors',
  `select k.id, destination_country, destination_currency_id, c.code as destination_currency, limit_currency_id, payout_method,
          beneficiary_account_type, routing_code_type, delivery_tat, minimum_amount::text, maximum_amount::text, fee_fixed_amount::text,
          fee_parts_per_million, fee_minimum_amount::text, fee_maximum_amount::text, enabled, k.created_at, k.updated_at
   from corridor k join currency c on c.id = k.destination_currency_id where destination_country = $1 order by k.id`,
);

/**
 * The list is empty for a known country without corridors.
 *
 * @param rails a corridor that no payment network serves is not enabled
 * @param country ISO 3166-1 alpha-2 or alpha-3, in any case
 * @throws Refusal `country_unknown`
 */
export async function listCorridors(
  { database, reference }: Reading,
  rails: RailRouting,
  country: string,
): Promise<readonly Corridor[]> {
  const known = countryOf(country);
  if (!known) throw new Refusal('country_unknown');
  const [rows] = await database.pipeline({}, [bind(LIST_CORRIDORS, known.alpha2)] as const);
  return reference.compose((current) =>
    rows.map((row) => composeCorridor(current, { ...row, enabled: row.enabled && isServed(rails, row) })),
  );
}

const isServed = (rails: RailRouting, row: CorridorRow): boolean =>
  rails.railFor({
    country: row.destination_country,
    currency: row.destination_currency,
    payoutMethod: row.payout_method,
  }) !== undefined;

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
    ...feeOf(row),
    enabled: row.enabled,
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
    edges: {
      destinationCurrency: reference.currency(row.destination_currency_id),
      limitCurrency: reference.currency(row.limit_currency_id),
    },
  };
}

function feeOf(row: CorridorRow): Pick<Corridor, 'fee'> {
  if (row.fee_fixed_amount === null) return {};
  const fee: CorridorFee = {
    fixedAmount: row.fee_fixed_amount as TransferAmount,
    partsPerMillion: row.fee_parts_per_million!,
    minimumAmount: row.fee_minimum_amount as TransferAmount,
    ...(row.fee_maximum_amount !== null && { maximumAmount: row.fee_maximum_amount as TransferAmount }),
  };
  return { fee };
}

/** A corridor of this deployment for one type of beneficiary account. */
interface SchemaRow extends CorridorRoute {
  readonly id: bigint;
  readonly destinationCurrencyId: number;
}

/** The corridors of the deployment, open or closed. */
const FIND_CORRIDORS = sqlStatement<SchemaRow>(
  'find_corridors',
  `select k.id, k.destination_country as "destinationCountry", c.code as "destinationCurrency", k.payout_method as "payoutMethod",
          k.beneficiary_account_type as "beneficiaryAccountType", k.routing_code_type as "routingCodeType",
          k.destination_currency_id as "destinationCurrencyId"
   from corridor k join currency c on c.id = k.destination_currency_id
   where k.destination_country = $1 and c.code = $2 and k.payout_method = $3
     and ($4::text is null or k.beneficiary_account_type = $4)
   order by k.id`,
);

/** The query in the form of the reference data, or undefined for an unknown country. */
export function corridorChoice(query: CorridorQuery): CorridorQuery | undefined {
  const country = countryOf(query.countryCode);
  if (!country) return undefined;
  const { payoutMethod, beneficiaryAccountType } = query;
  return {
    countryCode: country.alpha2,
    currencyCode: query.currencyCode.toUpperCase(),
    payoutMethod,
    ...(beneficiaryAccountType !== undefined && { beneficiaryAccountType }),
  };
}

export const corridorsRead = (choice: CorridorQuery): BoundStatement<SchemaRow> =>
  bind(FIND_CORRIDORS, choice.countryCode, choice.currencyCode, choice.payoutMethod, choice.beneficiaryAccountType);

/**
 * The schemas of these corridors.
 *
 * @param rails a payment network can require more of a recipient
 * @throws Refusal `corridor_not_found` if there is no corridor, or no schema for it
 */
export function schemasOf(corridors: readonly SchemaRow[], rails: RailRouting): readonly BeneficiarySchema[] {
  const schemas = recipientSchemasOf(
    corridors.map((corridor) => ({
      ...corridor,
      needsPostalAddress: rails.needsPostalAddress(destinationOf(corridor)),
    })),
  );
  if (schemas.length === 0) throw new Refusal('corridor_not_found');
  return schemas;
}

export const destinationOf = (corridor: CorridorRoute): PayoutDestination => ({
  country: corridor.destinationCountry,
  currency: corridor.destinationCurrency,
  payoutMethod: corridor.payoutMethod,
});

/** @throws Refusal `corridor_not_found` */
export async function listRecipientSchemas(
  database: Database,
  rails: RailRouting,
  query: CorridorQuery,
): Promise<readonly RecipientSchema[]> {
  const choice = corridorChoice(query);
  if (!choice) throw new Refusal('corridor_not_found');
  const [corridors] = await database.pipeline({}, [corridorsRead(choice)] as const);
  return schemasOf(corridors, rails);
}

/**
 * The purposes of payments to a country, or to all countries without a list of their own.
 *
 * @param country ISO 3166-1 alpha-2 or alpha-3, in any case
 * @throws Refusal `country_unknown`, `unavailable`
 */
export async function listPurposes(reference: ReferenceData, country: string | undefined): Promise<Purposes> {
  const known = country === undefined ? undefined : countryOf(country);
  if (country !== undefined && !known) throw new Refusal('country_unknown');
  return (await reference.current()).purposesOf(known?.alpha2);
}

export async function listProducts(reference: ReferenceData): Promise<readonly Product[]> {
  return (await reference.current()).products;
}
