import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ErrorObject } from 'ajv';
import type { Inspect } from '@banking/client';

/** The document of our own interface, which `npm run openapi` writes and a spec holds to the routes. */
const DOCUMENT = join(__dirname, '..', '..', 'openapi.json');

/** How amounts are written: other texts may be written otherwise elsewhere, times for example. */
const AMOUNT = '^(0|[1-9][0-9]{0,18})$';

/** Deeper than any record of the interface. */
const DEPTH_MAX = 64;

/** Records of which the published interface requires no field. */
const NOTHING_REQUIRED = ['Corridor', 'ExecutedTransfer'];

/** What is looked at of a schema: whether a value is of its type, within its bounds, and holds what it must. */
const KEPT = ['type', 'required', 'minimum', 'maximum', '$ref'] as const;

interface Schema {
  readonly [keyword: string]: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly pattern?: string;
  readonly additionalProperties?: Schema | boolean;
  readonly $ref?: string;
}

type Schemas = Readonly<Record<string, Schema>>;

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Schemas };
}

interface DocumentedOperation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { readonly content?: { readonly 'application/json'?: { readonly schema: Schema } } }>>; // prettier-ignore
}

/**
 * Looks at every success of an upstream before anybody gets it: the types of all fields we know, the digits of amounts, the bounds of
 * integers, and that no field is missing which the interface requires. Fields and values we do not know pass. What is wrong is
 * said by its place, never by its value.
 *
 * The checks are made from our own OpenAPI document, each when its operation is first answered.
 */
export function answerChecks(): Inspect {
  const { paths, components } = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as Document;
  const { schemas } = components;
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const answers = operations.map((operation) => [operation.operationId, successOf(operation)] as const);
  // The document has been looked at by whoever wrote it: to look again costs a start twice as much.
  const ajv = new Ajv({ strict: false, validateFormats: false, validateSchema: false, meta: false });
  ajv.addSchema({
    $id: 'interface',
    components: { schemas: mapped(Object.entries(schemas), (schema, name) => asChecked(schema, schemas, name)) },
    operations: mapped(answers, (schema) => asChecked(schema ?? {}, schemas)),
  });
  return ({ operation, value }) => {
    if (isDeeperThan(DEPTH_MAX, value)) return `it is nested deeper than ${DEPTH_MAX} levels`;
    const check = ajv.getSchema(`interface#/operations/${operation}`);
    return check === undefined || check(value) ? undefined : sentenceOf(check.errors?.[0]);
  };
}

/** Whether it is nested deeper: whoever writes it out goes down into it, as far as the stack holds. */
function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const name in value) {
    if (isDeeperThan(levels - 1, (value as Readonly<Record<string, unknown>>)[name])) return true;
  }
  return false;
}

const mapped = <T, U>(entries: readonly (readonly [string, T])[], change: (value: T, name: string) => U) =>
  Object.fromEntries(entries.map(([name, value]) => [name, change(value, name)]));

function successOf({ responses }: DocumentedOperation): Schema | undefined {
  return (responses['200'] ?? responses['201'])?.content?.['application/json']?.schema;
}

/** A schema without what only describes, and without what another deployment may do otherwise. */
function asChecked(schema: Schema, schemas: Schemas, name?: string): Schema {
  const kept = Object.fromEntries(KEPT.filter((keyword) => schema[keyword] !== undefined).map((keyword) => [keyword, schema[keyword]])); // prettier-ignore
  // What callers of this family expect, and no interface states: that it is there at all is enough.
  if (schema['x-provenance'] === 'known') return { type: schema['type'] };
  const { properties, items, allOf, additionalProperties, pattern } = schema;
  const inner = (one: Schema) => asChecked(one, schemas);
  return {
    ...kept,
    ...(typeof additionalProperties === 'object' && { additionalProperties: inner(additionalProperties) }),
    ...(properties && {
      properties: mapped(Object.entries(properties), inner),
      required: requiredOf(schema, schemas, name),
    }),
    ...(items && { items: inner(items) }),
    ...(allOf && { allOf: allOf.map(inner) }),
    ...(pattern === AMOUNT && { pattern }),
  };
}

/** `edges` must be there only where something in it must. */
function requiredOf({ required = [], properties = {} }: Schema, schemas: Schemas, name = ''): readonly string[] {
  if (NOTHING_REQUIRED.includes(name)) return [];
  return required.filter((field) => field !== 'edges' || needsSomething(properties['edges'], schemas));
}

function needsSomething(edges: Schema | undefined, schemas: Schemas): boolean {
  const named = edges?.$ref ?? edges?.allOf?.[0]?.$ref;
  const target = named === undefined ? edges : schemas[named.slice('#/components/schemas/'.length)];
  return (target?.required ?? []).length > 0;
}

/** `/edges/balance/amount must be integer`. Names of fields we do not know are not repeated at length. */
function sentenceOf(error: ErrorObject | undefined): string {
  const { instancePath = '', message = 'is not what the interface says' } = error ?? {};
  return `${instancePath.slice(0, 200) || '/'} ${message}`;
}
