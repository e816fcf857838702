import * as fc from 'fast-check';
import { IDENTIFIERS } from '../isolation/classification.js';
import { type Document, type JsonSchema, type Route, successOf } from './document.js';

/** Where a request can hold a value. `name` of a nested member is its path, such as `data.beneficiaryName`. */
export interface Position {
  readonly in: 'path' | 'query' | 'header' | 'body';
  readonly name: string;
}

/** A position as the tables of identifiers name it: `path accountId`. */
export const nameOf = (position: Position): string => `${position.in} ${position.name}`;

/** Every position of an operation that can hold an identifier: not those with an enumeration or of the type boolean. */
export function positionsOf({ components }: Document, { operation }: Route): Position[] {
  const { schemas } = components;
  const named = operation.parameters.flatMap((parameter) =>
    membersOf(parameter.schema, parameter.name, schemas).map((name) => ({ in: parameter.in, name }) as Position),
  );
  const content = operation.requestBody?.content;
  const body = content ? membersOf(content['application/json'].schema, '', schemas) : [];
  return [...named, ...body.map((name) => ({ in: 'body' as const, name }))];
}

type Schemas = Document['components']['schemas'];

function resolved(schema: JsonSchema, schemas: Schemas): JsonSchema {
  if (schema.$ref === undefined) return schema;
  const target = schemas[schema.$ref.replace('#/components/schemas/', '')];
  if (!target) throw new Error(`the document has no schema ${schema.$ref}`);
  return target;
}

/** The names of the values below a schema at any depth: `*` stands for an item of a list and for a member of any name. */
function membersOf(schema: JsonSchema, name: string, schemas: Schemas): string[] {
  if (schema.$ref !== undefined) return membersOf(resolved(schema, schemas), name, schemas);
  const below = (inner: string) => (name === '' ? inner : `${name}.${inner}`);
  const { properties = {}, additionalProperties, items, oneOf = [], anyOf = [], allOf = [] } = schema;
  const inner = [
    ...[...oneOf, ...anyOf, ...allOf].flatMap((part) => membersOf(part, name, schemas)),
    ...Object.entries(properties).flatMap(([member, part]) => membersOf(part, below(member), schemas)),
    ...(typeof additionalProperties === 'object' ? membersOf(additionalProperties, below('*'), schemas) : []),
    ...(items ? membersOf(items, below('*'), schemas) : []),
  ];
  if (inner.length > 0) return [...new Set(inner)];
  return schema.enum !== undefined || schema.type === 'boolean' ? [] : [name];
}

/** The schema of the body of an operation. */
export function bodySchemaOf({ components }: Document, { operation }: Pick<Route, 'operation'>): JsonSchema {
  const content = operation.requestBody?.content['application/json'];
  return content === undefined ? {} : resolved(content.schema, components.schemas);
}

/** One way to call an operation: the media type of the response, and values that replace those of the document. */
export interface Variant {
  readonly name: string;
  readonly accept: string;
  readonly values: Readonly<Record<string, string>>;
}

/** The example of the body by operation. The default is the first one. */
const BODIES: Readonly<Record<string, string>> = { placeOrder: 'internal' };

/** Values instead of the examples, which match the demo data. The first ones of an operation are its usual request. */
const VALUES: Readonly<Record<string, readonly Readonly<Record<string, string>>[]>> = {
  getStatement: [
    { 'query from': '2000-01-01T00:00:00Z', 'query to': '2100-01-01T00:00:00Z' },
    { 'query from': '2000-01-01', 'query to': '2100-01-01' },
  ],
  // A resource is named by its type and its id.
  listEvents: [{ 'query resourceType': 'order' }],
  // A final status would be accepted once only.
  addTransactionEvent: [{ 'body status': 'ACSP', 'body reasonCode': 'G001' }],
};

/** The ways to call an operation: each media type of its response, with each set of values. */
export function variantsOf({ operation }: Route): Variant[] {
  const { content = {} } = operation.responses[String(successOf({ operation }))] ?? {};
  const accepted = Object.keys(content).length > 0 ? Object.keys(content) : ['application/json'];
  return (VALUES[operation.operationId] ?? [{}]).flatMap((values) =>
    accepted.map((accept) => ({ name: [accept, ...Object.values(values)].join(' '), accept, values })),
  );
}

/** Gives the identifier of a position; undefined omits it. */
type IdentifierOf = (position: Position, isRequired: boolean) => string | number | undefined;

/** A request as `sendRequest` sends it, without its caller. */
interface ComposedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** The valid request of an operation with the given identifiers. */
export function requestWith(route: Route, { accept, values }: Variant, identifierOf: IdentifierOf): ComposedRequest {
  const { operation, method } = route;
  const query = new URLSearchParams();
  const headers: Record<string, string> = { accept };
  let { path } = route;
  for (const parameter of operation.parameters) {
    const position = { in: parameter.in, name: parameter.name } as Position;
    const name = nameOf(position);
    const isRequired = parameter.required ?? false;
    const example = parameter.example ?? Object.values(parameter.examples ?? {})[0]?.value;
    const ordinary = values[name] ?? (isRequired ? example : undefined);
    const value = Object.hasOwn(IDENTIFIERS, name) ? identifierOf(position, isRequired) : ordinary;
    if (value === undefined) continue;
    if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (parameter.in === 'query') query.set(parameter.name, String(value));
    else headers[parameter.name] = String(value);
  }
  const body = bodyWith(route, values, identifierOf);
  return { method, path: query.size > 0 ? `${path}?${query.toString()}` : path, headers, ...(body && { body }) };
}

function bodyWith(
  { operation }: Route,
  values: Variant['values'],
  identifierOf: IdentifierOf,
): Record<string, unknown> | undefined {
  if (!operation.requestBody) return undefined;
  const { examples } = operation.requestBody.content['application/json'];
  const chosen = examples[BODIES[operation.operationId] ?? ''] ?? Object.values(examples)[0];
  const body = { ...(chosen?.value as Readonly<Record<string, unknown>>) };
  for (const name of Object.keys(IDENTIFIERS).filter((known) => known.startsWith('body '))) {
    const member = name.slice('body '.length);
    const [list = '', ofItem = '', ...deeper] = member.split('.*.');
    if (/[.*]/.test(list) || deeper.length > 0) throw new Error(`${name} is nested too deep for a request of a case`);
    if (ofItem !== '') {
      // An item has it or not, as in the example.
      const withMember = (item: object) =>
        Object.hasOwn(item, ofItem) ? { ...item, [ofItem]: identifierOf({ in: 'body', name: member }, true) } : item;
      if (Array.isArray(body[list])) body[list] = (body[list] as object[]).map(withMember);
      continue;
    }
    const value = identifierOf({ in: 'body', name: member }, Object.hasOwn(body, member));
    if (value !== undefined) body[member] = value;
  }
  for (const [name, value] of Object.entries(values)) {
    if (name.startsWith('body ')) body[name.slice('body '.length)] = value;
  }
  return body;
}

/** A JSON value of a body. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Every random text and number contains one of these, also after `JSON.parse` has rounded the number. */
export const TEXT_MARKER = 'zq8marker';
export const NUMBER_MARKER = '3165098';
export const PLANTED = new RegExp(`${TEXT_MARKER}|${NUMBER_MARKER}`);

/** Texts that no field of any type accepts, or that only few accept. */
const ODD_TEXTS: readonly string[] = [
  ...['', ' ', '\0', '\u202e', '\ue000', '\r\nSet-Cookie: a', '\ud800', '\udb40\udc41', '\u{f0000}', '٣', 'é', "'"],
  ...['0', '-1', '-0', '01', '1e3', '1e309', '9007199254740992', '9223372036854775808', 'null', '*', '{{1}}', '${1}'],
  ...["' or '1'='1", '%', '%00', '%2F', '%C0%AF', '.', '..', '../..', '__proto__', '\0'.repeat(50), 'x'.repeat(5_000)],
];
const ODD_VALUES: readonly Json[] = [
  ...[null, true, 0, -1, 0.5, 1e300, Number(`7${NUMBER_MARKER}76`), [], [[]], {}, { $ne: null }],
];
export const ODD_IDS: readonly string[] = [
  ...['0', '-1', '01', '1e3', '9007199254740991', '9007199254740992', '%00', '1%2F2', TEXT_MARKER, '%D9%A3', ''],
];
export const ODD_NAMES: readonly string[] = [
  ...['__proto__', 'constructor', 'toString', 'then', 'length', 'edges', 'id', 'workspaceID', 'feeAmount', ''],
];

const markedText = (text: string) => `${TEXT_MARKER}${text}`;
export const oddText = fc
  .oneof(fc.constantFrom(...ODD_TEXTS), fc.string({ unit: 'binary', maxLength: 20 }), fc.string())
  .map(markedText);
const nested = (depth: number): Json => (depth === 0 ? TEXT_MARKER : { a: [nested(depth - 1)] });
export const oddValue: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom(...ODD_VALUES),
  oddText,
  oddText.map((text) => [text]),
  fc.nat(12).map(nested),
);

/** A lone surrogate cannot be written in a path, a query or a header. */
const wellFormed = (text: string) => text.replace(/\p{Surrogate}/gu, '?');
/** A part of a path, or a name or value of a query. It has no marker, because a refusal may name an unknown parameter. */
export const oddWord = fc.oneof(
  fc.constantFrom(...ODD_TEXTS.filter((text) => /^[!-~]{0,100}$/.test(text))),
  fc.string({ unit: 'binary', maxLength: 12 }).map((text) => encodeURIComponent(wellFormed(text))),
  fc.stringMatching(/^[!$&'()*+,;=:@A-Za-z0-9._~-]{1,16}$/),
);

const ODD_NUMBERS = ['-7316509876', '73165098.5', '73165098765432101234', '7.3165098e300', '7.3165098e-7'];
/** JSON texts that no serializer writes: numbers that lose digits, escaped halves of characters, repeated names, deep nesting. */
export const oddJson = (names: readonly string[]): fc.Arbitrary<string> =>
  fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 6, depthSize: 'small', withCrossShrink: true },
      oddText.map((text) => JSON.stringify(text)),
      fc.constantFrom('\\ud800', '\\udfff x', '\\u0000').map((text) => `"${TEXT_MARKER}${text}"`),
      fc.constantFrom(...ODD_NUMBERS, 'true', 'null', '{}', '[]'),
      fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
      fc
        .array(fc.tuple(fc.constantFrom(...ODD_NAMES, '\\ud800', '\\u0000', ...names), tie('value')), { maxLength: 4 })
        .map((members) => `{${members.map(([name, text]) => `"${name}":${text}`).join(',')}}`),
      fc.nat(500).map((depth) => `${'{"a":['.repeat(depth)}"${TEXT_MARKER}"${']}'.repeat(depth)}`),
    ),
  })).value;

const FREE_TEXT = '\\S';
const AMOUNT = '^[1-9][0-9]{0,18}$';
const INSTANT = { min: Date.UTC(2025, 0), max: Date.UTC(2100, 0) };

/** Values that match a schema of the document, though not always the rules of the operation. */
export function valueOf(schema: JsonSchema): fc.Arbitrary<Json> {
  const { type, enum: choices, pattern, format, minimum = 1, maximum = 2 ** 53 - 1, maxLength = 200 } = schema;
  if (choices) return fc.constantFrom(...choices);
  if (type === 'integer') {
    const small = fc.integer({ min: minimum, max: Math.min(maximum, minimum + 40) });
    return fc.oneof(small, fc.integer({ min: minimum, max: maximum }));
  }
  if (type === 'boolean') return fc.boolean();
  if (type === 'object') return objectOf(schema.properties ?? {});
  if (format === 'date-time') return fc.integer(INSTANT).map((ms) => new Date(ms).toISOString());
  if (pattern === AMOUNT) {
    const usual = fc.integer({ min: 1, max: 400_000 }).map(String);
    return fc.oneof({ weight: 4, arbitrary: usual }, fc.stringMatching(new RegExp(AMOUNT)));
  }
  if (pattern !== undefined && pattern !== FREE_TEXT) return fc.stringMatching(new RegExp(pattern));
  return fc.string({ maxLength: Math.max(1, Math.min(maxLength, 60) - TEXT_MARKER.length) }).map(markedText);
}

function objectOf(properties: Readonly<Record<string, JsonSchema>>): fc.Arbitrary<Json> {
  const fields = Object.entries(properties);
  if (fields.length === 0) {
    return fc.dictionary(fc.string({ maxLength: 10 }), fc.string().map(markedText), { maxKeys: 4 });
  }
  const values = Object.fromEntries(fields.map(([name, schema]) => [name, valueOf(schema)] as const));
  return fc.record<Record<string, Json>, never>(values, { requiredKeys: [] }) as fc.Arbitrary<Record<string, Json>>;
}

/** Bodies that are no object, for any operation. */
export const NO_OBJECTS: Readonly<Record<string, string>> = {
  'a truncated body': '{',
  'a list': '[]',
  'a list of one': '[{}]',
  'a number': '1',
  'a word': 'true',
  'a null': 'null',
  'a text': '"{}"',
  'a comment': '// c\n{}',
  'a byte order mark': '\ufeff{}',
  'something behind it': '{} {}',
  'a comma too many': '{"amount":"1",}',
  'single quotes': "{'amount':'1'}",
  'no number of JSON': '{"amount":NaN}',
  '5000 fields': JSON.stringify(Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`f${at}`, 1]))),
  'nesting without end': `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`,
  'nesting without end in lists': `{"data":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
};

/** Values for a field of any type. */
const VALUES_OF_ANY_TYPE: Readonly<Record<string, unknown>> = {
  null: null,
  'an empty text': '',
  'a text with a NUL': 'a\0b',
  'a text of two lines': 'x\r\nSet-Cookie: x',
  'a text of 5000 characters': 'x'.repeat(5_000),
  'a text that turns its direction': '\u202eevil',
  'a text with an invisible character': 'a\u200bb',
  'a text with a private-use character': 'a\u{f0000}b',
  'half a character': 'a\ud83d',
  'a number': 1,
  'a number below zero': -1,
  'half a number': 1.5,
  'a number beyond 2^53': 2 ** 53,
  'a list': [],
  'a list of one': ['100'],
  'an object': {},
  'an object that says what it is': { $ne: null },
  'true as a word': 'true',
  true: true,
};

const isRight = (name: string, type: string | undefined, isRequired: boolean) =>
  (name === 'true' && type === 'boolean') ||
  (name === 'a number' && type === 'integer') ||
  (name === 'true as a word' && type === 'string') ||
  (name === 'a list' && type === 'array') ||
  // An optional object may be empty. A required object may not.
  (name === 'an object' && type === 'object' && !isRequired);

/** A wrong value for each field of a body, with a description. */
export function wrongFieldsOf({ properties = {}, required = [] }: JsonSchema) {
  return Object.entries(properties).flatMap(([field, { type }]) =>
    Object.entries(VALUES_OF_ANY_TYPE)
      .filter(([what]) => !isRight(what, type, required.includes(field)))
      .map(([what, value]) => ({ what: `${field}: ${what}`, field: { [field]: value } })),
  );
}
