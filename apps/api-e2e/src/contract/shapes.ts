import { TABLES } from './published-tables.js';

const WORDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  id: (value) => Number.isSafeInteger(value) && Number(value) > 0,
  integer: (value) => Number.isSafeInteger(value),
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  time: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,9}Z$/.test(value),
  day: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value),
  amount: (value) => typeof value === 'string' && /^(0|[1-9][0-9]{0,18})$/.test(value),
  rate: (value) => typeof value === 'string' && /^(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$/.test(value),
  hash: (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value),
};

/** The faults of a value of a kind: fields that are missing, of another type, null, or not in the tables. */
export function faultsIn(value: unknown, kind: string, path = kind): string[] {
  if (kind.endsWith('?')) return value === undefined ? [] : faultsIn(value, kind.slice(0, -1), path);
  if (value === undefined) return [`${path} is missing`];
  if (value === null) return [`${path} is null`];
  if (kind.endsWith('[]')) {
    if (!Array.isArray(value)) return [`${path} is not an array`];
    return value.flatMap((item, index) => faultsIn(item, kind.slice(0, -2), `${path}[${index}]`));
  }
  const word = WORDS[kind];
  if (word)
    return [...(word(value) ? [] : [`${path} is no ${kind}: ${JSON.stringify(value)}`]), ...nullsIn(value, path)];
  return faultsInFields(value, kind, path);
}

function faultsInFields(value: unknown, kind: string, path: string): string[] {
  const table = TABLES[kind];
  if (!table) throw new Error(`there is no table for ${kind}`);
  if (typeof value !== 'object' || value === null) return [`${path} is no object`];
  const { edges, ...fields } = value as Record<string, unknown>;
  const found = new Map([
    ...Object.entries(fields),
    ...Object.entries(edges ?? {}).map(([key, v]) => [`edges.${key}`, v] as const),
  ]);
  const unknown = [...found.keys()]
    .filter((key) => !Object.hasOwn(table, key))
    .map((key) => `${path}.${key} is not in the table`);
  return [...unknown, ...Object.entries(table).flatMap(([key, of]) => faultsIn(found.get(key), of, `${path}.${key}`))];
}

function nullsIn(value: unknown, path: string): string[] {
  if (value === null) return [`${path} is null`];
  if (typeof value !== 'object') return [];
  return Object.entries(value as object).flatMap(([key, inner]) => nullsIn(inner, `${path}.${key}`));
}
