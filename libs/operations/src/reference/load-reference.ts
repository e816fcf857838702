import { currencies, currencyOf } from '@banking/domain';
import { CURRENCY_NAMES } from '@banking/domain/prose';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import {
  BANKS,
  type CorridorEntry,
  CORRIDORS,
  PRODUCTS,
  SWIFT_MINIMUM_SOURCE,
  swiftMinimumOf,
} from '@banking/reference';

/** Updates what ISO defines. Keeps what a deployment may set, such as the SWIFT minimum. */
const LOAD_CURRENCIES = sqlStatement(
  'load_currencies',
  `insert into currency as old (id, code, name, symbol, decimals, swift_minimum_withdrawal_amount, swift_minimum_is_demo)
   select *, $7::boolean from unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::smallint[], $6::bigint[])
   on conflict (id) do update
     set code = excluded.code, name = excluded.name, symbol = excluded.symbol, decimals = excluded.decimals, updated_at = now()
     where (old.code, old.name, old.symbol, old.decimals)
       is distinct from (excluded.code, excluded.name, excluded.symbol, excluded.decimals)`,
);

/** A deployment may change its products. */
const LOAD_PRODUCTS = sqlStatement(
  'load_products',
  `insert into product (id, name, description, currency_id)
   select * from unnest($1::bigint[], $2::text[], $3::text[], $4::int[])
   on conflict do nothing`,
);

const LOAD_BANKS = sqlStatement(
  'load_banks',
  `insert into bank as old (id, name, country_code, swift_code)
   select * from unnest($1::bigint[], $2::text[], $3::text[], $4::text[])
   on conflict (id) do update
     set name = excluded.name, country_code = excluded.country_code, swift_code = excluded.swift_code, updated_at = now()
     where (old.name, old.country_code, old.swift_code) is distinct from (excluded.name, excluded.country_code, excluded.swift_code)`,
);

/** A deployment may change limits, delivery times and whether a corridor is open. */
const LOAD_CORRIDORS = sqlStatement(
  'load_corridors',
  `insert into corridor (id, destination_country, destination_currency_id, limit_currency_id, payout_method,
                         beneficiary_account_type, routing_code_type, delivery_tat, minimum_amount, maximum_amount, enabled, is_demo)
   select * from unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[],
                        $9::bigint[], $10::bigint[], $11::boolean[], $12::boolean[])
   on conflict do nothing`,
);

/**
 * Adds missing rows to the reference tables. A second run changes nothing.
 *
 * @param demo whether to add what is marked as demo. A live deployment has its own terms, or no corridors.
 */
export async function loadReference(database: Database, { demo }: { readonly demo: boolean }): Promise<void> {
  const corridors = CORRIDORS.filter((corridor) => demo || !isDemo(corridor.termsSource));
  const hasMinimums = demo || !isDemo(SWIFT_MINIMUM_SOURCE);
  const money = currencies().filter(({ decimals }) => decimals !== undefined);
  await database.pipeline({}, [
    bind(
      LOAD_CURRENCIES,
      money.map(({ numeric }) => numeric),
      money.map(({ code }) => code),
      money.map(({ code }) => CURRENCY_NAMES[code]),
      money.map(({ symbol }) => symbol ?? null),
      money.map(({ decimals }) => decimals),
      money.map(({ code }) => (hasMinimums ? (swiftMinimumOf(code) ?? null) : null)),
      isDemo(SWIFT_MINIMUM_SOURCE),
    ),
    bind(
      LOAD_PRODUCTS,
      PRODUCTS.map(({ id }) => id),
      PRODUCTS.map(({ name }) => name),
      PRODUCTS.map(({ description }) => description),
      PRODUCTS.map(({ currencyCode }) => currencyId(currencyCode)),
    ),
    bind(
      LOAD_BANKS,
      BANKS.map(({ id }) => id),
      BANKS.map(({ name }) => name),
      BANKS.map(({ countryCode }) => countryCode),
      BANKS.map(({ swiftCode }) => swiftCode),
    ),
    bind(
      LOAD_CORRIDORS,
      corridors.map(({ id }) => id),
      corridors.map(({ destinationCountry }) => destinationCountry),
      corridors.map(({ destinationCurrency }) => currencyId(destinationCurrency)),
      corridors.map(({ limitCurrency }) => currencyId(limitCurrency)),
      corridors.map(({ payoutMethod }) => payoutMethod),
      corridors.map(({ beneficiaryAccountType }) => beneficiaryAccountType),
      corridors.map(({ routingCodeType }) => routingCodeType),
      corridors.map(({ deliveryTAT }) => deliveryTAT),
      corridors.map(({ minimumAmount }) => minimumAmount),
      corridors.map(({ maximumAmount }) => maximumAmount),
      corridors.map(({ enabled }) => enabled),
      corridors.map(({ termsSource }) => isDemo(termsSource)),
    ),
  ]);
}

/** The id of a currency is its ISO 4217 numeric code. */
const currencyId = (code: string): number => currencyOf(code).numeric;

const isDemo = ({ kind }: CorridorEntry['termsSource']): boolean => kind === 'demo';

/** How many rows have invented figures. */
interface DemoReference {
  /** Their limits and delivery times are invented. */
  readonly corridors: number;
  /** Currencies whose smallest SWIFT payout is invented. */
  readonly minimums: number;
}

const COUNT_DEMO = sqlStatement<DemoReference>(
  'count_demo_reference',
  `select (select count(*)::int from corridor where is_demo) as corridors,
          (select count(*)::int from currency
           where swift_minimum_is_demo and swift_minimum_withdrawal_amount is not null) as minimums`,
);

/** Counts the rows of the reference data that are marked as demo. */
export async function countDemoReference(database: Database): Promise<DemoReference> {
  return (await database.read({}, bind(COUNT_DEMO)))!;
}
