import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CurrencyCode, currencies, FORBIDDEN_CHARACTERS, hasForbiddenCharacter, isInstant } from '@banking/domain';
import { readYamlDocument, type ReportMistake, writeYamlDocument } from '@banking/process';
import { countryOf } from './countries.js';
import { type CorridorRoute, hasRecipientFormat } from './recipients/recipient-schema.js';

/** What a fee consists of, in minor units of the corridor's limit currency. Amounts are digits. */
interface StatedFee {
  readonly fixedAmount: string;
  /** Of the amount: 2,000 is 0.2 percent. */
  readonly partsPerMillion: number;
  readonly minimumAmount: string;
  /** Left out if the fee has no upper limit. */
  readonly maximumAmount?: string | undefined;
}

/** The limits, the price and the delivery time of payments. Amounts are digits in minor units of `limitCurrency`. */
interface StatedTerms {
  readonly limitCurrency: CurrencyCode;
  /** Inclusive, as is the maximum. */
  readonly minimumAmount: string;
  readonly maximumAmount: string;
  readonly deliveryTAT: string;
  /** Left out if payments are free. */
  readonly fee?: StatedFee | undefined;
}

interface StatedCorridor extends CorridorRoute, StatedTerms {
  readonly id: number;
  readonly enabled: boolean;
}

/** A product that accounts are opened for. */
interface StatedProduct {
  readonly id: number;
  readonly name: string;
  readonly description?: string | undefined;
  readonly currency: CurrencyCode;
}

/** A purpose code of payments, on the lists of some countries or on that of all others. */
interface StatedPurpose {
  readonly code: string;
  readonly text: string;
  /** ISO 3166-1 alpha-2. */
  readonly countries?: readonly string[] | undefined;
}

/** What a document states, with the terms of each corridor written out. A part that is left out stays as it is. */
export interface ReferenceContent {
  /** A live database refuses the content, because its figures are invented. */
  readonly sandboxOnly?: boolean | undefined;
  readonly corridors?: readonly StatedCorridor[] | undefined;
  readonly products?: readonly StatedProduct[] | undefined;
  readonly purposes?: readonly StatedPurpose[] | undefined;
  /** Digits in minor units, by currency. */
  readonly swiftMinimums?: Readonly<Record<string, string>> | undefined;
}

export interface ReferenceDocument {
  readonly content: ReferenceContent;
  /** RFC 3339. Left out if the document is effective at once. */
  readonly effectiveAt?: string | undefined;
}

type WrittenTerms = Omit<StatedTerms, 'fee'> & { readonly fee?: Partial<StatedFee> & Pick<StatedFee, 'fixedAmount'> };

/** A document as it is written: corridors refer to terms by name. */
interface WrittenDocument extends Omit<ReferenceContent, 'corridors'> {
  readonly effectiveAt?: string;
  readonly terms?: Readonly<Record<string, WrittenTerms>>;
  readonly corridors?: readonly (CorridorRoute & {
    readonly id: number;
    readonly terms: string;
    readonly enabled?: boolean;
  })[];
}

const ROOT = join(__dirname, '..');

/** The published JSON Schema of the document. */
const SCHEMA = JSON.parse(readFileSync(join(ROOT, 'reference.schema.json'), 'utf8')) as object;

/** The products of a new database. */
export const newProducts = (): ReferenceContent => documentOf('products.yaml').content;

/** The reference data of a sandbox: all of it but currencies, banks and products. */
export const demoReference = (): ReferenceContent => documentOf('demo-reference.yaml').content;

const documentOf = (file: string) => readReferenceDocument(file, readFileSync(join(ROOT, file), 'utf8'));

/**
 * Reads a document of reference data, in YAML or JSON.
 *
 * @param name how messages call the document
 * @throws ConfigError with all mistakes, each with its line and field
 */
export function readReferenceDocument(name: string, text: string): ReferenceDocument {
  const written = readYamlDocument<WrittenDocument>(name, text, SCHEMA, checkDocument);
  return {
    content: contentOf(written),
    ...(written.effectiveAt !== undefined && { effectiveAt: written.effectiveAt }),
  };
}

function checkDocument(written: WrittenDocument, report: ReportMistake): void {
  checkTexts(written, [], report);
  checkTerms(written, report);
  checkCorridors(written, report);
  checkProducts(written, report);
  checkPurposes(written, report);
  for (const code of Object.keys(written.swiftMinimums ?? {})) checkCurrency(code, ['swiftMinimums', code], report);
  const { effectiveAt } = written;
  if (effectiveAt !== undefined && (!isInstant(effectiveAt) || effectiveAt >= '9999')) {
    report(['effectiveAt'], 'There is no such time, or it is after the year 9998.');
  }
}

function contentOf({
  sandboxOnly,
  terms = {},
  corridors,
  products,
  purposes,
  swiftMinimums,
}: WrittenDocument): ReferenceContent {
  return {
    ...(sandboxOnly === true && { sandboxOnly }),
    ...(corridors && {
      corridors: corridors.map(({ terms: named, enabled = true, ...route }) => ({
        ...route,
        enabled,
        ...writtenOut(terms[named]!),
      })),
    }),
    ...(products && { products }),
    ...(purposes && { purposes }),
    ...(swiftMinimums && { swiftMinimums }),
  };
}

function writtenOut({ fee, ...terms }: WrittenTerms): StatedTerms {
  const { fixedAmount = '0', partsPerMillion = 0, minimumAmount = '0' } = fee ?? {};
  const isFree = [fixedAmount, minimumAmount].every((amount) => amount === '0') && partsPerMillion === 0;
  if (fee === undefined || isFree) return terms;
  return { ...terms, fee: { partsPerMillion: 0, minimumAmount: '0', ...fee } };
}

/** The free-text rule, for texts at any depth. */
function checkTexts(value: unknown, path: (string | number)[], report: ReportMistake): void {
  if (typeof value === 'string') {
    if (hasForbiddenCharacter(value)) report(path, `The text has ${FORBIDDEN_CHARACTERS}. Remove them.`);
  } else if (Array.isArray(value)) {
    for (const [index, part] of (value as unknown[]).entries()) checkTexts(part, [...path, index], report);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, part] of Object.entries(value)) checkTexts(part, [...path, name], report);
  }
}

const CURRENCIES: ReadonlySet<string> = new Set(
  currencies()
    .filter(({ decimals }) => decimals !== undefined)
    .map(({ code }) => code),
);

function checkCurrency(code: string, path: (string | number)[], report: ReportMistake): void {
  if (!CURRENCIES.has(code)) report(path, 'ISO 4217 has no such currency with minor units.');
}

function checkCountry(code: string, path: (string | number)[], report: ReportMistake): void {
  if (countryOf(code)?.alpha2 !== code) report(path, 'ISO 3166-1 has no such country.');
}

function checkTerms({ terms = {}, corridors = [] }: WrittenDocument, report: ReportMistake): void {
  const used = new Set(corridors.map(({ terms: named }) => named));
  for (const [name, { limitCurrency, minimumAmount, maximumAmount, fee }] of Object.entries(terms)) {
    const path = ['terms', name];
    checkCurrency(limitCurrency, [...path, 'limitCurrency'], report);
    if (BigInt(minimumAmount) > BigInt(maximumAmount)) {
      report([...path, 'maximumAmount'], 'The maximum is below the minimum.');
    }
    if (fee?.maximumAmount !== undefined && BigInt(fee.minimumAmount ?? '0') > BigInt(fee.maximumAmount)) {
      report([...path, 'fee', 'maximumAmount'], 'The maximum is below the minimum.');
    }
    if (!used.has(name)) report(path, 'No corridor has these terms. Remove them, or correct a name.');
  }
}

function checkCorridors({ terms = {}, corridors = [] }: WrittenDocument, report: ReportMistake): void {
  const [ids, routes] = [new Set<number>(), new Set<string>()];
  for (const [index, corridor] of corridors.entries()) {
    const path = ['corridors', index];
    checkCountry(corridor.destinationCountry, [...path, 'destinationCountry'], report);
    checkCurrency(corridor.destinationCurrency, [...path, 'destinationCurrency'], report);
    if (!Object.hasOwn(terms, corridor.terms)) report([...path, 'terms'], 'The document has no terms of this name.');
    if (ids.has(corridor.id)) report([...path, 'id'], 'Another corridor has this id.');
    const route = routeOf(corridor);
    if (routes.has(route)) report(path, 'Another corridor has the same country, currency, method and beneficiary.');
    ids.add(corridor.id);
    routes.add(route);
    if (!hasRecipientFormat(corridor)) {
      report(
        path,
        'There is no format of account numbers and routing codes for this country, method and routing code.',
      );
    }
  }
}

/** What is unique of a corridor besides its id, as messages call it. */
export const routeOf = (corridor: Omit<CorridorRoute, 'routingCodeType'>): string => {
  const { destinationCountry, destinationCurrency, payoutMethod, beneficiaryAccountType } = corridor;
  return [destinationCountry, destinationCurrency, payoutMethod, beneficiaryAccountType].join(' ');
};

function checkProducts({ products = [] }: WrittenDocument, report: ReportMistake): void {
  const ids = new Set<number>();
  for (const [index, { id, currency }] of products.entries()) {
    checkCurrency(currency, ['products', index, 'currency'], report);
    if (ids.has(id)) report(['products', index, 'id'], 'Another product has this id.');
    ids.add(id);
  }
}

function checkPurposes({ purposes = [] }: WrittenDocument, report: ReportMistake): void {
  const known = new Set<string>();
  for (const [index, { code, countries }] of purposes.entries()) {
    for (const [place, country] of (countries ?? []).entries()) {
      checkCountry(country, ['purposes', index, 'countries', place], report);
    }
    for (const country of countries ?? ['']) {
      if (known.has(`${country} ${code}`)) report(['purposes', index, 'code'], 'The code is on this list twice.');
      known.add(`${country} ${code}`);
    }
  }
}

/** The document of a content, with a name for each kind of terms. Reading it gives the content again. */
export function writeReferenceDocument({ corridors, ...content }: ReferenceContent): string {
  const names = new Map<string, string>();
  const nameOf = (terms: StatedTerms): string => {
    const key = JSON.stringify(terms);
    const known = names.get(key) ?? `${terms.limitCurrency.toLowerCase()}-${names.size + 1}`;
    names.set(key, known);
    return known;
  };
  const routes = corridors?.map(
    ({ limitCurrency, minimumAmount, maximumAmount, deliveryTAT, fee, enabled, ...route }) => ({
      ...route,
      terms: nameOf({ limitCurrency, minimumAmount, maximumAmount, deliveryTAT, ...(fee && { fee }) }),
      ...(!enabled && { enabled }),
    }),
  );
  const terms = Object.fromEntries([...names].map(([key, name]) => [name, JSON.parse(key) as StatedTerms]));
  return writeYamlDocument({ ...content, ...(routes && { terms, corridors: routes }) });
}
