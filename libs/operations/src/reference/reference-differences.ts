import type { CorridorRoute, ReferenceContent } from '@banking/reference';

/** What a document changes of one record. */
export interface ReferenceDifference {
  /** Such as `corridor 1 (IN INR LOCAL Individual)`. */
  readonly subject: string;
  readonly kind: 'added' | 'changed' | 'left out';
  /** Of a changed record: the fields with their values before and after. Undefined: it has none. */
  readonly fields: readonly FieldDifference[];
}

interface FieldDifference {
  readonly field: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

type Fields = Readonly<Record<string, string | undefined>>;

/** The differences of what is in force and what a document states, in the order of its parts. Parts that it leaves out have none. */
export function referenceDifferences(
  current: ReferenceContent,
  stated: ReferenceContent,
): readonly ReferenceDifference[] {
  return PARTS.flatMap(({ part, recordsOf }) => {
    if (stated[part] === undefined) return [];
    const [before, after] = [recordsOf(current), recordsOf(stated)];
    const kept = [...after].flatMap(([subject, fields]) => differenceOf(subject, before.get(subject), fields));
    const isIn = ([subject, fields]: [string, Fields]) => !after.has(subject) && fields['enabled'] !== 'false';
    const leftOut = [...before].filter(isIn).map(([subject]) => ({ subject, kind: 'left out' as const, fields: [] }));
    return [...kept, ...leftOut];
  });
}

interface Part {
  readonly part: keyof ReferenceContent;
  /** Its records by their subjects. */
  readonly recordsOf: (content: ReferenceContent) => ReadonlyMap<string, Fields>;
}

const PARTS: readonly Part[] = [
  {
    part: 'products',
    recordsOf: ({ products = [] }) =>
      new Map(products.map(({ id, ...fields }) => [`product ${id}`, { description: undefined, ...fields }])),
  },
  {
    part: 'swiftMinimums',
    recordsOf: ({ swiftMinimums = {} }) =>
      new Map(Object.entries(swiftMinimums).map(([code, amount]) => [`SWIFT minimum of ${code}`, { amount }])),
  },
  {
    part: 'purposes',
    recordsOf: ({ purposes = [] }) =>
      new Map(
        purposes.flatMap(({ code, text, countries = ['all other countries'] }) =>
          countries.map((list): [string, Fields] => [`purpose ${code} of ${list}`, { text }]),
        ),
      ),
  },
  {
    part: 'corridors',
    recordsOf: ({ corridors = [] }) =>
      new Map(
        corridors.map(({ fee, id, enabled, routingCodeType, ...corridor }) => {
          const { limitCurrency, minimumAmount, maximumAmount, deliveryTAT } = corridor;
          const terms = { limitCurrency, minimumAmount, maximumAmount, deliveryTAT };
          const price = {
            'fee.fixedAmount': fee?.fixedAmount,
            'fee.partsPerMillion': fee?.partsPerMillion.toString(),
            'fee.minimumAmount': fee?.minimumAmount,
            'fee.maximumAmount': fee?.maximumAmount,
          };
          const subject = `corridor ${id} (${routeOf(corridor)})`;
          return [subject, { routingCodeType, enabled: String(enabled), ...terms, ...price }];
        }),
      ),
  },
];

const routeOf = (corridor: Omit<CorridorRoute, 'routingCodeType'>): string => {
  const { destinationCountry, destinationCurrency, payoutMethod, beneficiaryAccountType } = corridor;
  return [destinationCountry, destinationCurrency, payoutMethod, beneficiaryAccountType].join(' ');
};

function differenceOf(subject: string, before: Fields | undefined, after: Fields): ReferenceDifference[] {
  if (before === undefined) return [{ subject, kind: 'added', fields: [] }];
  const fields = Object.keys(after)
    .filter((field) => before[field] !== after[field])
    .map((field) => ({ field, before: before[field], after: after[field] }));
  return fields.length === 0 ? [] : [{ subject, kind: 'changed', fields }];
}

/**
 * What a document must not change, because recipients and accounts refer to it: where a corridor leads, and the currency of a product. A
 * sentence each.
 */
export function fixedFieldsChanged(current: ReferenceContent, stated: ReferenceContent): readonly string[] {
  const routes = new Map(current.corridors?.map((corridor) => [corridor.id, routeOf(corridor)]));
  const ids = new Map(current.corridors?.map((corridor) => [routeOf(corridor), corridor.id]));
  const currencies = new Map(current.products?.map(({ id, currency }) => [id, currency]));
  const corridors = (stated.corridors ?? []).flatMap((corridor): string[] => {
    const [route, known] = [routes.get(corridor.id), ids.get(routeOf(corridor))];
    if (route !== undefined && route !== routeOf(corridor)) {
      return [`Corridor ${corridor.id} leads to ${route} for ever. Give the new corridor another id.`];
    }
    if (known === undefined || known === corridor.id) return [];
    return [`Corridor ${corridor.id} leads where corridor ${known} does. Keep the id ${known}.`];
  });
  const products = (stated.products ?? [])
    .filter(({ id, currency }) => (currencies.get(id) ?? currency) !== currency)
    .map(({ id }) => `Product ${id} is in ${currencies.get(id)} for ever. Give the new product another id.`);
  return [...products, ...corridors];
}
