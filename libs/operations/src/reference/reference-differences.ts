import { type ReferenceContent, routeOf } from '@banking/reference';

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

function differenceOf(subject: string, before: Fields | undefined, after: Fields): ReferenceDifference[] {
  if (before === undefined) return [{ subject, kind: 'added', fields: [] }];
  const fields = Object.keys(after)
    .filter((field) => before[field] !== after[field])
    .map((field) => ({ field, before: before[field], after: after[field] }));
  return fields.length === 0 ? [] : [{ subject, kind: 'changed', fields }];
}

/** What is in force, and the currencies of all products, also of those that are not offered any more. */
export interface ReferenceInForce {
  readonly content: ReferenceContent;
  readonly currenciesOfProducts: Readonly<Record<string, string>>;
}

/**
 * What a document must not change, because recipients and accounts refer to it: where a corridor leads by which routing code, and the
 * currency of a product. A sentence each.
 */
export function fixedFieldsChanged(
  { content, currenciesOfProducts }: ReferenceInForce,
  stated: ReferenceContent,
): readonly string[] {
  const known = new Map(content.corridors?.map((corridor) => [corridor.id, corridor]));
  const ids = new Map(content.corridors?.map((corridor) => [routeOf(corridor), corridor.id]));
  const corridors = (stated.corridors ?? []).flatMap((corridor): string[] => {
    const [before, other] = [known.get(corridor.id), ids.get(routeOf(corridor))];
    if (before && routeOf(before) !== routeOf(corridor)) {
      return [`Corridor ${corridor.id} leads to ${routeOf(before)} for ever. Give the new corridor another id.`];
    }
    if (before && before.routingCodeType !== corridor.routingCodeType) {
      return [
        `Corridor ${corridor.id} has the routing code type ${before.routingCodeType} for ever: recipients have such codes.`,
      ];
    }
    if (other === undefined || other === corridor.id) return [];
    return [`Corridor ${corridor.id} leads where corridor ${other} does. Keep the id ${other}.`];
  });
  const products = (stated.products ?? []).flatMap(({ id, currency }): string[] => {
    const before = currenciesOfProducts[id] ?? currency;
    return before === currency ? [] : [`Product ${id} is in ${before} for ever. Give the new product another id.`];
  });
  return [...products, ...corridors];
}
