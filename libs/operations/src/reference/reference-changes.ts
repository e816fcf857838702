import { currencies } from '@banking/domain';
import { CURRENCY_NAMES } from '@banking/domain/prose';
import { bind, type Database, DatabaseError, RULE_VIOLATION, SQLSTATE, sqlStatement } from '@banking/postgres';
import { BANKS, demoReference, newProducts, type ReferenceContent } from '@banking/reference';
import { fixedFieldsChanged, type ReferenceInForce } from './reference-differences.js';

/** What a release states, and an operator cannot. */
interface ReleaseContent extends ReferenceContent {
  readonly currencies: readonly object[];
  readonly banks: readonly object[];
}

/** A document to be recorded. */
export interface StatedChange {
  readonly content: ReferenceContent;
  /** A release, the file that a service is started with, or a command of an operator. */
  readonly origin: 'release' | 'file' | 'operator';
  /** RFC 3339. Default: at once, as for an earlier time. */
  readonly effectiveAt?: string | undefined;
  /** The release, or the setting that names the file. Of an operator, the database records the login. */
  readonly recordedBy?: string | undefined;
  /** Whether a document that waits is withdrawn. Default: another one is refused. */
  readonly withdraws?: boolean | undefined;
}

/** A document that was recorded. */
export interface ReferenceChange {
  readonly id: number;
  readonly origin: StatedChange['origin'];
  /** RFC 3339, as the other times. */
  readonly effectiveAt: string;
  readonly recordedAt: string;
  readonly recordedBy: string;
  readonly operatingSystemUser: string | null;
  /** `due`: its time has come, and the next worker or command applies it. */
  readonly status: 'waits' | 'due' | 'applied' | 'withdrawn';
  readonly appliedAt: string | null;
  readonly withdrawnAt: string | null;
  /** Who withdrew it, or why it could not be applied. */
  readonly withdrawnBy: string | null;
}

const RECORD = sqlStatement<{ id: bigint }>(
  'record_reference_change',
  'select record_reference_change($1::jsonb, $2, $3::timestamptz, $4, $5) as id',
);

const APPLY = sqlStatement<{ id: bigint }>('apply_reference_changes', 'select apply_reference_changes() as id');

const WITHDRAW = sqlStatement<{ id: bigint }>(
  'withdraw_reference_changes',
  'select withdraw_reference_changes() as id',
);

const LIST = sqlStatement<Omit<ReferenceChange, 'id'> & { readonly id: bigint }>(
  'list_reference_changes',
  `select id, origin, rfc3339(effective_at) as "effectiveAt", rfc3339(recorded_at) as "recordedAt", recorded_by as "recordedBy",
          operating_system_user as "operatingSystemUser",
          rfc3339(applied_at) as "appliedAt", rfc3339(withdrawn_at) as "withdrawnAt",
          withdrawn_by as "withdrawnBy",
          case when applied_at is not null then 'applied' when withdrawn_at is not null then 'withdrawn'
               when effective_at <= statement_timestamp() then 'due' else 'waits' end as status
   from reference_change order by id desc limit $1`,
);

/** In the form of a document whose terms are written out. */
const READ_CONTENT = sqlStatement<ReferenceInForce>(
  'read_reference_content',
  `select json_strip_nulls(json_build_object(
     'sandboxOnly', (select case when c.content ->> 'sandboxOnly' = 'true' then true end from reference_change c
       where c.applied_at is not null and c.content ? 'corridors' order by c.applied_at desc, c.id desc limit 1),
     'corridors', (select coalesce(json_agg(json_strip_nulls(json_build_object(
         'id', k.id, 'destinationCountry', k.destination_country, 'destinationCurrency', d.code, 'payoutMethod', k.payout_method,
         'beneficiaryAccountType', k.beneficiary_account_type, 'routingCodeType', k.routing_code_type, 'enabled', k.enabled,
         'limitCurrency', l.code, 'minimumAmount', k.minimum_amount::text, 'maximumAmount', k.maximum_amount::text,
         'deliveryTAT', k.delivery_tat,
         'fee', case when k.fee_fixed_amount is not null then json_build_object(
           'fixedAmount', k.fee_fixed_amount::text, 'partsPerMillion', k.fee_parts_per_million,
           'minimumAmount', k.fee_minimum_amount::text, 'maximumAmount', k.fee_maximum_amount::text) end)) order by k.id), '[]')
       from corridor k join currency d on d.id = k.destination_currency_id join currency l on l.id = k.limit_currency_id),
     'products', (select coalesce(json_agg(json_strip_nulls(json_build_object('id', p.id, 'name', p.name, 'description', p.description,
         'currency', c.code)) order by p.id), '[]')
       from product p join currency c on c.id = p.currency_id where p.offered),
     'purposes', (select coalesce(json_agg(json_strip_nulls(json_build_object('code', u.code, 'text', u.text,
         'countries', case when u.list <> 'other' then json_build_array(u.list) end)) order by u.list, u.code), '[]') from purpose u),
     'swiftMinimums', (select coalesce(json_object_agg(c.code, c.swift_minimum_withdrawal_amount::text order by c.code), '{}')
       from currency c where c.swift_minimum_withdrawal_amount is not null))) as content,
   (select coalesce(json_object_agg(p.id, c.code), '{}') from product p join currency c on c.id = p.currency_id) as "currenciesOfProducts"`,
);

/** A document that is not recorded, with the change to make. */
export class ReferenceChangeError extends Error {
  override readonly name = 'ReferenceChangeError';
}

/**
 * Records a document, and applies it if it is effective.
 *
 * @param database as a role that may change reference data
 * @returns the id of the change, and whether it was applied
 * @throws ReferenceChangeError for what the database does not take, and while another document waits
 */
export async function recordReference(
  database: Database,
  change: StatedChange,
): Promise<{ readonly id: number; readonly isApplied: boolean }> {
  const [[recorded], applied] = await database
    .pipeline({}, [recording(change), bind(APPLY)] as const)
    .catch((error: unknown) => explain(database, error, change));
  return { id: Number(recorded!.id), isApplied: applied.some(({ id }) => id === recorded!.id) };
}

/** Ends a database transaction that must leave nothing. */
class Tried extends Error {}

/** Records a document, and rolls it back. @throws ReferenceChangeError as `recordReference` does */
export async function tryReference(database: Database, change: StatedChange): Promise<void> {
  try {
    await database.transaction({}, async (tx) => {
      await tx.pipeline([recording(change)]);
      throw new Tried();
    });
  } catch (error) {
    if (!(error instanceof Tried)) await explain(database, error, change);
  }
}

function recording({ content, origin, effectiveAt, recordedBy, withdraws = false }: StatedChange) {
  return bind(RECORD, JSON.stringify(content), origin, effectiveAt, recordedBy, withdraws);
}

/** What the database refuses, by its SQLSTATE. */
const REFUSED: Readonly<Record<string, string>> = {
  [RULE_VIOLATION.wrongReference]:
    'Another document waits for its time. See banking reference list, and withdraw it with --withdraw.',
  [RULE_VIOLATION.recordChanged]:
    'A corridor leads to the same country, currency, method and beneficiary by the same routing code for ever, and a product has its currency ' +
    'for ever. Give a new record an id of its own.',
  [SQLSTATE.uniqueViolation]: 'A corridor leads where another one does. Keep the id of that one.',
  [SQLSTATE.checkViolation]:
    'A value is outside of what the database stores. Compare the document with its JSON Schema.',
};

/** @throws ReferenceChangeError that names the records, if it is about some; other errors as they are */
async function explain(database: Database, error: unknown, { content }: StatedChange): Promise<never> {
  const message = error instanceof DatabaseError ? REFUSED[error.code ?? ''] : undefined;
  if (message === undefined) throw error;
  const isInvented = content.sandboxOnly === true && (error as DatabaseError).message.includes('invented');
  if (isInvented) {
    const invented = 'The document says that its figures are invented (sandboxOnly), and the database is live.';
    throw new ReferenceChangeError(`${invented} State terms of your own.`, { cause: error });
  }
  const fixed = fixedFieldsChanged(await readReferenceInForce(database), content);
  throw new ReferenceChangeError(fixed.length > 0 ? fixed.join('\n') : message, { cause: error });
}

/** Applies documents whose time has come. Returns their number. @throws Refusal `unavailable` */
export async function applyDueReference(database: Database): Promise<number> {
  const [applied] = await database.pipeline({}, [bind(APPLY)] as const);
  return applied.length;
}

/** Withdraws the document that waits. Returns its id; undefined if none does. */
export async function withdrawReference(database: Database): Promise<number | undefined> {
  const [[withdrawn]] = await database.pipeline({}, [bind(WITHDRAW)] as const);
  return withdrawn && Number(withdrawn.id);
}

/** The documents, the latest first. */
export async function listReferenceChanges(database: Database, limit: number): Promise<readonly ReferenceChange[]> {
  const [rows] = await database.pipeline({}, [bind(LIST, limit)] as const);
  return rows.map((row) => ({ ...row, id: Number(row.id) }));
}

/** What is in force, but currencies and banks. */
export async function readReferenceInForce(database: Database): Promise<ReferenceInForce> {
  return (await database.read({}, bind(READ_CONTENT)))!;
}

/** ISO 4217 and the banks that this release knows. */
const factsOfRelease = (): ReleaseContent => ({
  currencies: currencies()
    .filter(({ decimals }) => decimals !== undefined)
    .map(({ numeric, code, symbol, decimals }) => ({
      id: numeric,
      code,
      name: CURRENCY_NAMES[code],
      ...(symbol !== undefined && { symbol }),
      decimals,
    })),
  banks: BANKS.map(({ id, name, countryCode, swiftCode }) => ({ id, name, countryCode, swiftCode })),
});

/** Which contents are not those that were recorded last. */
const COMPARE = sqlStatement<{ hasFacts: boolean; hasGiven: boolean; hasTerms: boolean }>(
  'compare_reference_changes',
  `select exists (select from (
            select content from reference_change where origin = 'release' and content ? 'currencies' order by id desc limit 1) c
            where c.content = $1::jsonb) as "hasFacts",
          exists (select from (
            select * from reference_change where origin = 'file' order by id desc limit 1) c
            where c.content = $2::jsonb and c.effective_at = greatest($3::timestamptz, c.recorded_at)) as "hasGiven",
          exists (select from reference_change where content ? 'products' or content ? 'corridors') as "hasTerms"`,
);

/** The document of an operator that a process is started with. */
export interface GivenReference {
  readonly content: ReferenceContent;
  readonly effectiveAt?: string | undefined;
}

/**
 * The documents that a database still needs to be served: what this release knows, the document that the process is started with, and in a
 * database without terms those of a sandbox, or products if the document states none.
 *
 * @throws Refusal `unavailable`
 */
export async function missingReference(
  database: Database,
  {
    isSandbox,
    given,
    release,
  }: { readonly isSandbox: boolean; readonly given?: GivenReference | undefined; readonly release: string },
): Promise<readonly StatedChange[]> {
  const facts = factsOfRelease();
  const stated = [JSON.stringify(facts), given && JSON.stringify(given.content), given?.effectiveAt];
  const { hasFacts, hasGiven, hasTerms } = (await database.read({}, bind(COMPARE, ...stated)))!;
  const changes: StatedChange[] = [];
  if (!hasFacts) changes.push({ content: facts, origin: 'release', recordedBy: release });
  // Ids are for ever, so an operator who states products is to have all of them.
  if (!hasTerms && given?.content.products === undefined) {
    const content = isSandbox && !given ? { ...newProducts(), ...demoReference() } : newProducts();
    changes.push({ content, origin: 'release', recordedBy: release });
  }
  if (given && !hasGiven) {
    changes.push({ ...given, origin: 'file', recordedBy: 'REFERENCE_FILE' });
  }
  return changes;
}
