import { Refusal, type CorridorQuery } from '@banking/domain';
import { bind, statement, type Bound } from '@banking/postgres';
import { countryOf, recipientSchemasOf, type CorridorChoice, type RecipientSchema } from '@banking/reference';

/** A corridor of this deployment, one for each kind of beneficiary. */
export interface CorridorRow {
  readonly id: bigint;
  readonly beneficiary_account_type: string;
  readonly destination_currency_id: number;
}

/** Which corridors there are is the deployment's to say, whether they are open or not. */
const FIND_CORRIDORS = statement<CorridorRow>(
  'find_corridors',
  `select k.id, k.beneficiary_account_type, k.destination_currency_id
   from corridor k join currency c on c.id = k.destination_currency_id
   where k.destination_country = $1 and c.code = $2 and k.payout_method = $3
     and ($4::text is null or k.beneficiary_account_type = $4)
   order by k.id`,
);

/** The question as the reference data writes it; undefined for a country that is none. */
export function corridorChoice(query: CorridorQuery): CorridorChoice | undefined {
  const country = countryOf(query.countryCode);
  if (!country) return undefined;
  const { payoutMethod, beneficiaryAccountType } = query as CorridorChoice;
  return {
    countryCode: country.alpha2,
    currencyCode: query.currencyCode.toUpperCase(),
    payoutMethod,
    ...(beneficiaryAccountType !== undefined && { beneficiaryAccountType }),
  };
}

export const corridorsRead = (choice: CorridorChoice): Bound<CorridorRow> =>
  bind(FIND_CORRIDORS, choice.countryCode, choice.currencyCode, choice.payoutMethod, choice.beneficiaryAccountType);

/**
 * What these corridors ask for.
 *
 * @throws Refusal `corridor_not_found` without any, and for those nobody has written down what they ask for
 */
export function schemasOf(choice: CorridorChoice, corridors: readonly CorridorRow[]): readonly RecipientSchema[] {
  const kinds = corridors.map((corridor) => corridor.beneficiary_account_type);
  const schemas = recipientSchemasOf(choice).filter(({ properties }) =>
    kinds.includes(properties.beneficiaryAccountType.const ?? ''),
  );
  if (schemas.length === 0) throw new Refusal('corridor_not_found');
  return schemas;
}
