import * as fc from 'fast-check';
import type { JsonSchema } from '../documented/document.js';
import { type Json, NUMBER_MARKER, TEXT_MARKER } from './step.js';

/** Texts that no field of any type accepts, or that only few accept. */
const ODD_TEXTS = [
  '',
  ' ',
  '\0',
  '\u202e',
  '\ue000',
  '\r\nSet-Cookie: a',
  '\ud800',
  '0',
  '-1',
  '1e3',
  '01',
  '9223372036854775808',
  "' or '1'='1",
  '%00',
  '../..',
  '__proto__',
  '٣',
  '\u{f0000}',
  'x'.repeat(600),
];
const ODD_VALUES: readonly Json[] = [
  null,
  true,
  0,
  -1,
  0.5,
  1e300,
  Number(`7${NUMBER_MARKER}76`),
  [],
  [[]],
  {},
  { $ne: null },
];
export const ODD_NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'edges',
  'id',
  'workspaceID',
  'feeAmount',
  '',
  'then',
];
export const ODD_IDS = [
  '0',
  '-1',
  '01',
  '1e3',
  '9007199254740991',
  '9007199254740992',
  '%00',
  '1%2F2',
  TEXT_MARKER,
  '%D9%A3',
  '',
];

const markedText = (text: string) => `${TEXT_MARKER}${text}`;
export const oddText = fc
  .oneof(fc.constantFrom(...ODD_TEXTS), fc.string({ unit: 'binary', maxLength: 20 }), fc.string())
  .map(markedText);
export const oddValue: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom(...ODD_VALUES),
  oddText,
  oddText.map((text) => [text]),
  fc.nat(12).map((depth) => nested(depth)),
);

function nested(depth: number): Json {
  return depth === 0 ? TEXT_MARKER : { a: [nested(depth - 1)] };
}

const INSTANT_MIN = Date.UTC(2025, 0);
const INSTANT_MAX = Date.UTC(2100, 0);
const instant = fc.integer({ min: INSTANT_MIN, max: INSTANT_MAX }).map((ms) => new Date(ms).toISOString());

/** Values that match a schema of the document, though not always the rules of the operation. */
export function valueOf(schema: JsonSchema): fc.Arbitrary<Json> {
  const {
    type,
    enum: choices,
    pattern,
    format,
    minimum = 1,
    maximum = 2 ** 53 - 1,
    maxLength = 200,
    properties,
  } = schema;
  if (choices) return fc.constantFrom(...choices);
  if (type === 'integer')
    return fc.oneof(
      fc.integer({ min: minimum, max: Math.min(maximum, minimum + 40) }),
      fc.integer({ min: minimum, max: maximum }),
    );
  if (type === 'boolean') return fc.boolean();
  if (type === 'object') return objectOf(properties ?? {});
  if (format === 'date-time') return instant;
  if (pattern === AMOUNT)
    return fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 400_000 }).map(String) },
      fc.stringMatching(/^[1-9][0-9]{0,18}$/),
    );
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  return fc.string({ maxLength: Math.max(1, Math.min(maxLength, 60) - TEXT_MARKER.length) }).map(markedText);
}

const AMOUNT = '^[1-9][0-9]{0,18}$';

function objectOf(properties: Readonly<Record<string, JsonSchema>>): fc.Arbitrary<Json> {
  const fields = Object.entries(properties);
  if (fields.length === 0)
    return fc.dictionary(fc.string({ maxLength: 10 }), fc.string().map(markedText), { maxKeys: 4 });
  const values = fields.map(([name, schema]) => [name, valueOf(schema)] as const);
  return fc.record<Record<string, Json>, never>(Object.fromEntries(values), { requiredKeys: [] }) as fc.Arbitrary<
    Record<string, Json>
  >;
}
