import { Refusal, type CorridorQuery } from '@banking/domain';
import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import { countryOf, recipientSchemasOf, type BeneficiarySchema } from '@banking/reference';

/** A corridor of this deployment for one type of beneficiary account. */
export interface CorridorRow {
  readonly id: bigint;
  readonly beneficiary_account_type: string;
  readonly destination_currency_id: number;
}

/** The corridors of the deployment, open or closed. */
const FIND_CORRIDORS = sqlStatement<CorridorRow>(
  'find_corridors',
  `select k.id, k.beneficiary_account_type, k.destination_currency_id
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

export const corridorsRead = (choice: CorridorQuery): BoundStatement<CorridorRow> =>
  bind(FIND_CORRIDORS, choice.countryCode, choice.currencyCode, choice.payoutMethod, choice.beneficiaryAccountType);

/**
 * The schemas of these corridors.
 *
 * @throws Refusal `corridor_not_found` if there is no corridor, or no schema for it
 */
export function schemasOf(choice: CorridorQuery, corridors: readonly CorridorRow[]): readonly BeneficiarySchema[] {
  const kinds = corridors.map((corridor) => corridor.beneficiary_account_type);
  const schemas = recipientSchemasOf(choice).filter(({ properties }) =>
    kinds.includes(properties.beneficiaryAccountType.const ?? ''),
  );
  if (schemas.length === 0) throw new Refusal('corridor_not_found');
  return schemas;
}
