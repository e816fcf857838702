import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ErrorObject } from 'ajv';
import type { Inspect } from '@banking/client';

/** The document of our own interface, which `npm run openapi` writes and a spec holds to the routes. */
const DOCUMENT = join(__dirname, '..', '..', 'openapi.json');

/** Deeper than any record of the interface. */
const DEPTH_MAX = 64;

/** How amounts are written. */
const AMOUNT = '^(0|[1-9][0-9]{0,18})$';

/** What the interface states of a value beside its type, and what we rely on when we calculate with it. */
const STATED_LIMITS: Readonly<Record<string, Schema>> = {
  'Transfer.amount': { pattern: AMOUNT },
  'Currency.decimals': { minimum: 0, maximum: 18 },
};

/** Records that the published interface names and whose fields it does not show. */
const NOT_SHOWN = ['Order', 'Execution', 'ExecutedTransfer', 'RecipientSchema'];

/** Records of which it does not say which fields are required. */
const NOTHING_REQUIRED = ['Corridor'];

/** Records that only our document has: a deployment that answers with one has it from there. */
const ONLY_OURS = ['Movement', 'Quote', 'QuoteEdges', 'SandboxClock', 'Statement', 'StatementAccount', 'StatementAccountEdges', 'StatementEdges']; // prettier-ignore

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
 * Checks every success of an upstream before a caller gets it. What the published interface states is enforced: the JSON types of its
 * fields, the fields it requires, and {@link STATED_LIMITS}. What it leaves open passes as it is: fields of ours, fields we do not know,
 * values such as times and statuses, and records it does not show. The objection names the place, never the value.
 *
 * The checks are made from our own OpenAPI document, whose `x-provenance` says what is stated. Each is compiled at the first answer of
 * its operation.
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
function asChecked(schema: Schema, schemas: Schemas, name = ''): Schema {
  if (NOT_SHOWN.includes(name)) return { type: 'object', properties: { edges: { type: 'object' } } };
  const isOurs = ONLY_OURS.includes(name);
  const { type, $ref, properties, items, allOf, additionalProperties } = schema;
  const inner = (one: Schema) => asChecked(one, schemas);
  return {
    ...(type !== undefined && { type }),
    ...($ref !== undefined && { $ref }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: inner(additionalProperties) }),
    ...(properties && {
      properties: mapped(
        Object.entries(properties),
        (field, its) =>
        isOurs ? { ...inner(field), ...limitsOf(field) } : { ...asStated(field, schemas), ...STATED_LIMITS[`${name}.${its}`] }, // prettier-ignore
      ),
      required: requiredOf(schema, schemas, name),
    }),
    ...(items && { items: inner(items) }),
    ...(allOf && { allOf: allOf.map(inner) }),
  };
}

/** A field of a record that the interface shows. */
function asStated(field: Schema, schemas: Schemas): Schema {
  switch (field['x-provenance']) {
    case 'ours':
      return {};
    // Callers of this family expect what is inside; the interface states the type alone.
    case 'known':
      return { type: field['type'] };
    default:
      return asChecked(field, schemas);
  }
}

function limitsOf({ minimum, maximum, pattern }: Schema): Schema {
  return {
    ...(minimum !== undefined && { minimum }),
    ...(maximum !== undefined && { maximum }),
    ...(pattern === AMOUNT && { pattern }),
  };
}

/** `edges` must be there only where something in it must. */
function requiredOf({ required = [], properties = {} }: Schema, schemas: Schemas, name: string): readonly string[] {
  if (NOTHING_REQUIRED.includes(name)) return [];
  const isStated = (field: string) => ONLY_OURS.includes(name) || properties[field]?.['x-provenance'] !== 'ours';
  return required.filter((field) => isStated(field) && (field !== 'edges' || needsSomething(properties['edges'], schemas))); // prettier-ignore
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
