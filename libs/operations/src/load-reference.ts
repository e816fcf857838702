import { currencies, currencyOf } from '@banking/domain';
import { bind, statement, type Database } from '@banking/postgres';
import { BANKS, CORRIDORS, PRODUCTS, swiftMinimumOf } from '@banking/reference';

/** Rows that did not change keep their `updated_at`; what an edition of the data changes is written over. */
const LOAD_CURRENCIES = statement(
  'load_currencies',
  `insert into currency as old (id, code, name, symbol, decimals, swift_minimum_withdrawal_amount)
   select * from unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::smallint[], $6::bigint[])
   on conflict (id) do update
     set code = excluded.code, name = excluded.name, symbol = excluded.symbol, decimals = excluded.decimals,
         swift_minimum_withdrawal_amount = excluded.swift_minimum_withdrawal_amount, updated_at = now()
     where (old.code, old.name, old.symbol, old.decimals, old.swift_minimum_withdrawal_amount)
       is distinct from (excluded.code, excluded.name, excluded.symbol, excluded.decimals, excluded.swift_minimum_withdrawal_amount)`,
);
const LOAD_PRODUCTS = statement(
  'load_products',
  `insert into product as old (id, name, description, currency_id)
   select * from unnest($1::bigint[], $2::text[], $3::text[], $4::int[])
   on conflict (id) do update
     set name = excluded.name, description = excluded.description, updated_at = now()
     where (old.name, old.description) is distinct from (excluded.name, excluded.description)`,
);
const LOAD_BANKS = statement(
  'load_banks',
  `insert into bank as old (id, name, country_code, swift_code)
   select * from unnest($1::bigint[], $2::text[], $3::text[], $4::text[])
   on conflict (id) do update
     set name = excluded.name, country_code = excluded.country_code, swift_code = excluded.swift_code, updated_at = now()
     where (old.name, old.country_code, old.swift_code) is distinct from (excluded.name, excluded.country_code, excluded.swift_code)`,
);
/** Whether a corridor is open is the deployment's own decision once it is there: loading leaves it alone. */
const LOAD_CORRIDORS = statement(
  'load_corridors',
  `insert into corridor as old (id, destination_country, destination_currency_id, limit_currency_id, payout_method,
                                beneficiary_account_type, routing_code_type, delivery_tat, minimum_amount, maximum_amount, enabled)
   select * from unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[],
                        $9::bigint[], $10::bigint[], $11::boolean[])
   on conflict (id) do update
     set limit_currency_id = excluded.limit_currency_id, routing_code_type = excluded.routing_code_type,
         delivery_tat = excluded.delivery_tat, minimum_amount = excluded.minimum_amount,
         maximum_amount = excluded.maximum_amount, updated_at = now()
     where (old.limit_currency_id, old.routing_code_type, old.delivery_tat, old.minimum_amount, old.maximum_amount)
       is distinct from (excluded.limit_currency_id, excluded.routing_code_type, excluded.delivery_tat, excluded.minimum_amount, excluded.maximum_amount)`,
);

/** Brings the reference tables to this edition of the data. Running it again changes nothing. */
export async function loadReference(database: Database): Promise<void> {
  const money = currencies().filter(({ decimals }) => decimals !== undefined);
  await database.flight({}, [
    bind(
      LOAD_CURRENCIES,
      money.map(({ numeric }) => numeric),
      money.map(({ code }) => code),
      money.map(({ name }) => name),
      money.map(({ symbol }) => symbol ?? null),
      money.map(({ decimals }) => decimals),
      money.map(({ code }) => swiftMinimumOf(code) ?? null),
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
      CORRIDORS.map(({ id }) => id),
      CORRIDORS.map(({ destinationCountry }) => destinationCountry),
      CORRIDORS.map(({ destinationCurrency }) => currencyId(destinationCurrency)),
      CORRIDORS.map(({ limitCurrency }) => currencyId(limitCurrency)),
      CORRIDORS.map(({ payoutMethod }) => payoutMethod),
      CORRIDORS.map(({ beneficiaryAccountType }) => beneficiaryAccountType),
      CORRIDORS.map(({ routingCodeType }) => routingCodeType),
      CORRIDORS.map(({ deliveryTAT }) => deliveryTAT),
      CORRIDORS.map(({ minimumAmount }) => minimumAmount),
      CORRIDORS.map(({ maximumAmount }) => maximumAmount),
      CORRIDORS.map(({ enabled }) => enabled),
    ),
  ]);
}

/** The id of a currency is its ISO 4217 numeric code. */
export const currencyId = (code: string): number => currencyOf(code).numeric;
