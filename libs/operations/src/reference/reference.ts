import { type Bank, type Currency, type Product, Refusal, type Timestamp } from '@banking/domain';
import { bind, CommitInDoubtError, type Database, sqlStatement } from '@banking/postgres';
import { RETENTION } from '../idempotency/idempotency-key.js';
import {
  column,
  type Columns,
  digitsOrNull,
  packed,
  type RowOf,
  timestampOf,
  unpacking,
  withoutNulls,
} from '../resources/columns.js';

const TIMES = { createdAt: column<string>('created_at'), updatedAt: column<string>('updated_at') } satisfies Columns;

const CURRENCY = {
  id: column<number>('id'),
  code: column<string>('code'),
  name: column<string>('name'),
  symbol: column<string | null>('symbol'),
  decimals: column<number>('decimals'),
  swiftMinimum: digitsOrNull('swift_minimum_withdrawal_amount'),
  ...TIMES,
} satisfies Columns;

const PRODUCT = {
  id: column<number>('id'),
  name: column<string>('name'),
  description: column<string | null>('description'),
  currencyId: column<number>('currency_id'),
  ...TIMES,
  offered: column<boolean>('offered'),
} satisfies Columns;

const BANK = {
  id: column<number>('id'),
  name: column<string>('name'),
  countryCode: column<string | null>('country_code'),
  swiftCode: column<string | null>('swift_code'),
  ...TIMES,
} satisfies Columns;

const PURPOSE = {
  list: column<string>('list'),
  code: column<string>('code'),
  text: column<string>('text'),
} satisfies Columns;

const currencyRow = unpacking(CURRENCY);
const productRow = unpacking(PRODUCT);
const bankRow = unpacking(BANK);
const purposeRow = unpacking(PURPOSE);

type Rows = readonly (readonly unknown[])[];

/**
 * The rows of currencies, products, banks and purposes. They are stored, so the order of the columns never changes. A migration that adds a column
 * also changes `reference_version`, because the snapshot of the present version lacks it.
 */
export type ReferenceFacts = readonly [Rows, Rows, Rows, Rows];

const rowsOf = (columns: Columns, table: string, order = 'l.id') =>
  `coalesce((select json_agg(${packed(columns, 'l')} order by ${order}) from ${table} l), '[]')`;

/** SQL of the facts, a JSON array. */
const REFERENCE_FACTS = `json_build_array(${[
  ...[rowsOf(CURRENCY, 'currency'), rowsOf(PRODUCT, 'product'), rowsOf(BANK, 'bank')],
  rowsOf(PURPOSE, 'purpose', 'l.list, l.code'),
].join(', ')})`;

/** The texts of purpose codes, by code. */
export type Purposes = Readonly<Record<string, string>>;

/** The list of all countries without a list of their own. */
const OTHER_COUNTRIES = 'other';

/** A row refers to reference data that is newer than the data in memory. */
class UnknownReference extends Error {
  override readonly name = 'UnknownReference';
}

/** The reference data of one version, as resources. They are frozen, because many responses share them. */
export class Reference {
  private readonly currencies: ReadonlyMap<number, Currency>;
  private readonly productsById: ReadonlyMap<number, Product>;
  private readonly banks: ReadonlyMap<number, Bank>;
  private readonly offered: ReadonlySet<number>;
  private readonly purposeLists = new Map<string, Record<string, string>>();

  constructor(
    readonly version: bigint,
    [currencies, products, banks, purposes]: ReferenceFacts,
  ) {
    this.currencies = byId(currencies.map((row) => currencyOf(currencyRow(row))));
    this.productsById = byId(products.map((row) => this.productOf(productRow(row))));
    this.banks = byId(banks.map((row) => bankOf(bankRow(row))));
    this.offered = new Set(products.map(productRow).flatMap(({ id, offered }) => (offered ? [id] : [])));
    for (const { list, code, text } of purposes.map(purposeRow)) {
      this.purposeLists.set(list, { ...this.purposeLists.get(list), [code]: text });
    }
  }

  /** Those that accounts are opened for, in the order of their ids. */
  get products(): readonly Product[] {
    return [...this.productsById.values()].filter(({ id }) => this.offered.has(id));
  }

  /** The purposes of payments to a country: those of its own list, or else those of all other countries. */
  purposesOf(country: string | undefined): Purposes {
    return this.ownPurposesOf(country) ?? this.purposeLists.get(OTHER_COUNTRIES) ?? {};
  }

  /** The purposes of the country's own list; undefined without one. */
  ownPurposesOf(country: string | undefined): Purposes | undefined {
    return country === undefined ? undefined : this.purposeLists.get(country);
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

  private productOf(row: RowOf<typeof PRODUCT>): Product {
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

const timesOf = ({ createdAt, updatedAt }: RowOf<typeof TIMES>): { createdAt: Timestamp; updatedAt: Timestamp } => ({
  createdAt: timestampOf(createdAt),
  updatedAt: timestampOf(updatedAt),
});

function currencyOf(row: RowOf<typeof CURRENCY>): Currency {
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

function bankOf(row: RowOf<typeof BANK>): Bank {
  const { id, name, countryCode, swiftCode } = row;
  return frozen<Bank>({ id: id as Bank['id'], name, countryCode, swiftCode, ...timesOf(row) });
}

interface SnapshotRow {
  readonly version: bigint;
  readonly facts: ReferenceFacts;
}

/** None while its snapshot is missing, as after a failover to a server that did not have it yet. */
const READ_VERSION = sqlStatement<{ version: bigint }>(
  'reference_version',
  'select version from reference_version join reference_snapshot using (version)',
);

/**
 * Version and facts are of one snapshot of the database, because they are of one statement. They are stored before they are used, so
 * that each response has the data that it was composed with.
 */
const READ_CURRENT = sqlStatement<SnapshotRow>(
  'read_reference',
  `with current as materialized (select version, ${REFERENCE_FACTS} as facts from reference_version),
   stored as (insert into reference_snapshot (version, facts) select version, facts from current on conflict (version) do nothing)
   select version, facts from current`,
);

const READ_SNAPSHOT = sqlStatement<SnapshotRow>(
  'read_reference_snapshot',
  'select version, facts from reference_snapshot where version = $1',
);

/**
 * The versions of one of several databases are a range of their own. So the snapshots of stored responses can move to another database with
 * their workspace.
 */
export const VERSIONS_OF_CELL = 1_000_000_000_000n;

/** A version is in use until the next one of its database was stored, and its responses are stored for as long as their keys. */
const DELETE_SNAPSHOTS = sqlStatement<{ version: bigint }>(
  'delete_reference_snapshots',
  `delete from reference_snapshot s
   where exists (select from reference_snapshot n
                 where n.version > s.version and n.version / ${VERSIONS_OF_CELL} = s.version / ${VERSIONS_OF_CELL}
                   and n.created_at < statement_timestamp() - ${RETENTION} - interval '1 day')
   returning s.version`,
);

/** Deletes the snapshots of versions that no stored response was composed with. Returns their number. @throws Refusal `unavailable` */
export async function deleteOldReference(database: Database): Promise<number> {
  const [deleted] = await database.pipeline({}, [bind(DELETE_SNAPSHOTS)] as const);
  return deleted.length;
}

/** How many earlier versions are kept in memory. */
const FORMER_MAX = 4;

/** After this time the version is compared with that of the database, while the data is still used. */
const COMPARE_AFTER_MS = 500;

/** After this time the data is not used before it is compared. */
const USED_MAX_MS = 1_000;

/** The reference data, kept in memory and read again within a second of a change. One for each process. */
export class ReferenceData {
  private known: Reference | undefined;
  private comparedAtMs = -Infinity;
  private reading: Promise<Reference> | undefined;
  /** Earlier versions that replays were composed with. */
  private readonly former = new Map<bigint, Promise<Reference>>();

  constructor(private readonly database: Database) {}

  /** @throws Refusal `unavailable` */
  async current(): Promise<Reference> {
    const ageMs = performance.now() - this.comparedAtMs;
    if (this.known === undefined || ageMs > USED_MAX_MS) return this.compare();
    // A failure is that of the next caller who has to wait for it.
    if (ageMs > COMPARE_AFTER_MS) this.compare().catch(() => undefined);
    return this.known;
  }

  /**
   * The data of an earlier version, for the replay of a response.
   *
   * @throws Refusal `unavailable`
   */
  async ofVersion(version: bigint): Promise<Reference> {
    if (this.known?.version === version) return this.known;
    const read = this.former.get(version) ?? this.readFormer(version);
    this.former.set(version, read);
    read.catch(() => this.former.delete(version));
    const [first] = this.former.keys();
    if (this.former.size > FORMER_MAX && first !== undefined) this.former.delete(first);
    return read;
  }

  private async readFormer(version: bigint): Promise<Reference> {
    const row = await this.database.read({}, bind(READ_SNAPSHOT, version.toString()));
    if (!row) throw new Error(`the reference data of version ${version} is not stored`);
    return new Reference(row.version, row.facts);
  }

  /** Composes with the current data, and again if a row refers to newer data. @throws Refusal `unavailable` */
  async compose<T>(compose: (reference: Reference) => T): Promise<T> {
    return this.composeWith(await this.current(), compose);
  }

  /** Composes with data that the caller has read, and again if a row refers to newer data. @throws Refusal `unavailable` */
  async composeWith<T>(reference: Reference, compose: (reference: Reference) => T): Promise<T> {
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
  async beforeChange(): Promise<<T>(compose: (reference: Reference) => T, isMade?: boolean) => Promise<T>> {
    const reference = await this.current();
    return (compose, isMade = true) =>
      this.composeWith(reference, compose).catch((error: unknown) => Promise.reject(isMade ? asMade(error) : error));
  }

  private compare(): Promise<Reference> {
    this.reading ??= this.read().finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async read(): Promise<Reference> {
    const startedAtMs = performance.now();
    const isCurrent = this.known && (await this.database.read({}, bind(READ_VERSION)))?.version === this.known.version;
    if (!isCurrent) this.known = await this.readCurrent();
    this.comparedAtMs = startedAtMs;
    return this.known!;
  }

  private async readCurrent(): Promise<Reference> {
    const [[row]] = await this.database.pipeline({}, [bind(READ_CURRENT)] as const);
    if (!row) throw new Error('the reference data has no version');
    return new Reference(row.version, row.facts);
  }
}

const asMade = (error: unknown) => (error instanceof Refusal ? new CommitInDoubtError(error) : error);
