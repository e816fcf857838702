import type { Bank, Currency, Product, Timestamp } from '@banking/domain';
import { column, type Columns, digits, packed, unpacking } from '../resources/columns.js';
import { timestampOf } from '../resources/timestamp-of.js';
import { withoutNulls } from '../resources/without-nulls.js';

interface Times {
  readonly createdAt: string;
  readonly updatedAt: string;
}
interface CurrencyRow extends Times {
  readonly id: number;
  readonly code: string;
  readonly name: string;
  readonly symbol: string | null;
  readonly decimals: number;
  readonly swiftMinimum: string | null;
}
interface ProductRow extends Times {
  readonly id: number;
  readonly name: string;
  readonly description: string | null;
  readonly currencyId: number;
}
interface BankRow extends Times {
  readonly id: number;
  readonly name: string;
  readonly countryCode: string | null;
  readonly swiftCode: string | null;
}

const TIMES: Columns<Times> = { createdAt: column('created_at'), updatedAt: column('updated_at') };
const CURRENCY: Columns<CurrencyRow> = {
  id: column('id'),
  code: column('code'),
  name: column('name'),
  symbol: column('symbol'),
  decimals: column('decimals'),
  swiftMinimum: digits('swift_minimum_withdrawal_amount'),
  ...TIMES,
};
const PRODUCT: Columns<ProductRow> = {
  id: column('id'),
  name: column('name'),
  description: column('description'),
  currencyId: column('currency_id'),
  ...TIMES,
};
const BANK: Columns<BankRow> = {
  id: column('id'),
  name: column('name'),
  countryCode: column('country_code'),
  swiftCode: column('swift_code'),
  ...TIMES,
};

const currencyRow = unpacking(CURRENCY);
const productRow = unpacking(PRODUCT);
const bankRow = unpacking(BANK);

type Rows = readonly (readonly unknown[])[];
/**
 * The rows of currencies, products and banks. They are stored, so the order of the columns never changes. A migration that adds a column
 * also changes `reference_version`, because the snapshot of the present version lacks it.
 */
export type ReferenceFacts = readonly [Rows, Rows, Rows];

const rowsOf = <Row>(columns: Columns<Row>, table: string) =>
  `coalesce((select json_agg(${packed(columns, 'l')} order by l.id) from ${table} l), '[]')`;

/** SQL of the facts, a JSON array. */
export const REFERENCE_FACTS = `json_build_array(${rowsOf(CURRENCY, 'currency')}, ${rowsOf(PRODUCT, 'product')}, ${rowsOf(BANK, 'bank')})`;

/** A row refers to reference data that is newer than the data in memory. */
export class UnknownReference extends Error {
  override readonly name = 'UnknownReference';
}

/** The reference data of one version, as resources. They are frozen, because many responses share them. */
export class Reference {
  private readonly currencies: ReadonlyMap<number, Currency>;
  private readonly productsById: ReadonlyMap<number, Product>;
  private readonly banks: ReadonlyMap<number, Bank>;

  constructor(
    readonly version: bigint,
    [currencies, products, banks]: ReferenceFacts,
  ) {
    this.currencies = byId(currencies.map((row) => currencyOf(currencyRow(row))));
    this.productsById = byId(products.map((row) => this.productOf(productRow(row))));
    this.banks = byId(banks.map((row) => bankOf(bankRow(row))));
  }

  /** In the order of their ids. */
  get products(): readonly Product[] {
    return [...this.productsById.values()];
  }

  currency(id: number): Currency {
    return known(this.currencies, id);
  }

  product(id: bigint | number): Product {
    return known(this.productsById, Number(id));
  }

  bank(id: bigint | number): Bank {
    return known(this.banks, Number(id));
  }

  private productOf(row: ProductRow): Product {
    const { id, name, description, currencyId } = row;
    return frozen<Product>({
      id: id as Product['id'],
      name,
      description,
      ...timesOf(row),
      edges: Object.freeze({ currency: this.currency(currencyId) }),
    });
  }
}

const byId = <Resource extends { readonly id: number }>(resources: readonly Resource[]) =>
  new Map(resources.map((resource): [number, Resource] => [resource.id, resource]));

function known<T>(rows: ReadonlyMap<number, T>, id: number): T {
  const row = rows.get(id);
  if (row === undefined) throw new UnknownReference(`the reference data has no row ${id}`);
  return row;
}

const frozen = <Resource>(fields: { readonly [Name in keyof Resource]: Resource[Name] | null }) =>
  Object.freeze(withoutNulls<Resource>(fields));

const timesOf = ({ createdAt, updatedAt }: Times): { createdAt: Timestamp; updatedAt: Timestamp } => ({
  createdAt: timestampOf(createdAt),
  updatedAt: timestampOf(updatedAt),
});

function currencyOf(row: CurrencyRow): Currency {
  const { id, code, name, symbol, decimals, swiftMinimum } = row;
  return frozen<Currency>({
    id: id as Currency['id'],
    code,
    name,
    symbol,
    decimals,
    swiftMinimumWithdrawalAmount: swiftMinimum as Currency['swiftMinimumWithdrawalAmount'] & string,
    ...timesOf(row),
  });
}

function bankOf(row: BankRow): Bank {
  const { id, name, countryCode, swiftCode } = row;
  return frozen<Bank>({ id: id as Bank['id'], name, countryCode, swiftCode, ...timesOf(row) });
}
