import { Refusal, type Bank, type Currency, type Product, type Timestamp } from '@banking/domain';
import { bind, CommitInDoubtError, sqlStatement, type Database } from '@banking/postgres';
import { timestampOf } from '../resources/timestamp-of.js';
import { withoutNulls } from '../resources/without-nulls.js';

interface Times {
  readonly created_at: string;
  readonly updated_at: string;
}
interface CurrencyRow extends Times {
  readonly id: number;
  readonly code: string;
  readonly name: string;
  readonly symbol: string | null;
  readonly decimals: number;
  readonly swift_minimum: string | null;
}
interface ProductRow extends Times {
  readonly id: bigint;
  readonly name: string;
  readonly description: string | null;
  readonly currency_id: number;
}
interface BankRow extends Times {
  readonly id: bigint;
  readonly name: string;
  readonly country_code: string | null;
  readonly swift_code: string | null;
}

const READ_VERSION = sqlStatement<{ version: bigint }>('reference_version', 'select version from reference_version');
const READ_CURRENCIES = sqlStatement<CurrencyRow>(
  'reference_currencies',
  `select id, code, name, symbol, decimals, swift_minimum_withdrawal_amount::text as swift_minimum, created_at, updated_at
   from currency`,
);
const READ_PRODUCTS = sqlStatement<ProductRow>(
  'reference_products',
  'select id, name, description, currency_id, created_at, updated_at from product order by id',
);
const READ_BANKS = sqlStatement<BankRow>(
  'reference_banks',
  'select id, name, country_code, swift_code, created_at, updated_at from bank',
);

/** A row refers to reference data that is newer than the data in memory. */
class UnknownReference extends Error {
  override readonly name = 'UnknownReference';
}

/** The reference data of one version, as resources. They are frozen, because many responses share them. */
export class Reference {
  constructor(
    readonly version: bigint,
    private readonly currencies: ReadonlyMap<number, Currency>,
    private readonly productsById: ReadonlyMap<number, Product>,
    private readonly banks: ReadonlyMap<number, Bank>,
  ) {}

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
}

function known<T>(rows: ReadonlyMap<number, T>, id: number): T {
  const row = rows.get(id);
  if (row === undefined) throw new UnknownReference(`the reference data has no row ${id}`);
  return row;
}

/** After this time the version is compared with that of the database, while the data is still used. */
const COMPARE_AFTER_MS = 500;
/** After this time the data is not used before it is compared. */
const USED_MAX_MS = 1_000;

/** The reference data, kept in memory and read again within a second of a change. One for each process. */
export class ReferenceData {
  private known: Reference | undefined;
  private comparedAtMs = -Infinity;
  private reading: Promise<Reference> | undefined;

  constructor(private readonly database: Database) {}

  /** @throws Refusal `unavailable` */
  async current(): Promise<Reference> {
    const ageMs = performance.now() - this.comparedAtMs;
    if (this.known === undefined || ageMs > USED_MAX_MS) return this.compare();
    // A failure is that of the next caller who has to wait for it.
    if (ageMs > COMPARE_AFTER_MS) this.compare().catch(() => undefined);
    return this.known;
  }

  /** Composes with the current data, and again if a row refers to newer data. @throws Refusal `unavailable` */
  async compose<T>(compose: (reference: Reference) => T): Promise<T> {
    return this.composeWith(await this.current(), compose);
  }

  private async composeWith<T>(reference: Reference, compose: (reference: Reference) => T): Promise<T> {
    try {
      return compose(reference);
    } catch (error) {
      if (!(error instanceof UnknownReference)) throw error;
      // A comparison that has begun may be older than the row.
      await this.reading?.catch(() => undefined);
      return compose(await this.compare());
    }
  }

  /**
   * Reads the data before a change. The returned function composes what was committed.
   *
   * @throws Refusal `unavailable`; the function throws `CommitInDoubtError` instead, because the change was made
   */
  async beforeChange(): Promise<<T>(compose: (reference: Reference) => T) => Promise<T>> {
    const reference = await this.current();
    return (compose) => this.composeWith(reference, compose).catch((error: unknown) => Promise.reject(asMade(error)));
  }

  private compare(): Promise<Reference> {
    this.reading ??= this.read().finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async read(): Promise<Reference> {
    const startedAtMs = performance.now();
    const isCurrent = this.known && (await this.database.read({}, bind(READ_VERSION)))?.version === this.known.version;
    if (!isCurrent) this.known = await this.readAll();
    this.comparedAtMs = startedAtMs;
    return this.known!;
  }

  /** The version is read first. After a change in between, the next comparison reads everything again. */
  private async readAll(): Promise<Reference> {
    const [[version], currencyRows, productRows, bankRows] = await this.database.pipeline({}, [
      bind(READ_VERSION),
      bind(READ_CURRENCIES),
      bind(READ_PRODUCTS),
      bind(READ_BANKS),
    ] as const);
    const currencies = new Map(currencyRows.map((row) => [row.id, currencyOf(row)]));
    const products = productRows.map((row) => productOf(row, known(currencies, row.currency_id)));
    return new Reference(
      version!.version,
      currencies,
      new Map(products.map((product): [number, Product] => [product.id, product])),
      new Map(bankRows.map((row) => [Number(row.id), bankOf(row)])),
    );
  }
}

const asMade = (error: unknown) => (error instanceof Refusal ? new CommitInDoubtError(error) : error);

const frozen = <Resource>(fields: { readonly [Name in keyof Resource]: Resource[Name] | null }) =>
  Object.freeze(withoutNulls<Resource>(fields));

const timesOf = ({ created_at, updated_at }: Times): { createdAt: Timestamp; updatedAt: Timestamp } => ({
  createdAt: timestampOf(created_at),
  updatedAt: timestampOf(updated_at),
});

function currencyOf(row: CurrencyRow): Currency {
  const { id, code, name, symbol, decimals, swift_minimum: minimum } = row;
  return frozen<Currency>({
    id: id as Currency['id'],
    code,
    name,
    symbol,
    decimals,
    swiftMinimumWithdrawalAmount: minimum as Currency['swiftMinimumWithdrawalAmount'] & string,
    ...timesOf(row),
  });
}

function productOf(row: ProductRow, currency: Currency): Product {
  const { id, name, description } = row;
  return frozen<Product>({
    id: Number(id) as Product['id'],
    name,
    description,
    ...timesOf(row),
    edges: Object.freeze({ currency }),
  });
}

function bankOf(row: BankRow): Bank {
  const { id, name, country_code: countryCode, swift_code: swiftCode } = row;
  return frozen<Bank>({ id: Number(id) as Bank['id'], name, countryCode, swiftCode, ...timesOf(row) });
}
