import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ErrorObject } from 'ajv';
import type { Inspect } from '@banking/client';

/** Our OpenAPI document: `npm run openapi` writes it, and a spec compares it with the routes. */
const DOCUMENT = join(__dirname, '..', '..', 'openapi.json');

/** Records of the interface are less deep. */
const DEPTH_MAX = 64;

const AMOUNT = '^(0|[1-9][0-9]{0,18})$';

/** Limits that the published interface states in its text, and that calculations rely on. */
const PUBLISHED_LIMITS: Readonly<Record<string, Schema>> = {
  'Transfer.amount': { pattern: AMOUNT },
  'Currency.decimals': { minimum: 0, maximum: 18 },
};

/** Records that the published interface names without their fields. */
const WITHOUT_FIELDS = ['Order', 'Execution', 'ExecutedTransfer', 'RecipientSchema'];

/** Records without required fields in the published interface. */
const NOTHING_REQUIRED = ['Corridor'];

/** Records that only our document defines: a deployment that sends one follows that document. */
const ONLY_OURS = [
  'Event',
  'EventActor',
  'EventChanges',
  'EventResource',
  'EventStatus',
  'Approval',
  'ApprovalBound',
  'ApprovalDecision',
  'ApprovalOutcome',
  'ApprovalRequirement',
  'ApprovalRule',
  'ApprovalRules',
  'ApprovedResource',
  'PendingApproval',
  'AuditActor',
  'AuditEvent',
  'AuditedResource',
  'BankDifference',
  'BankReconciliation',
  'BankReconciliationEdges',
  'Deposit',
  'DepositEdges',
  'DepositPayer',
  'Limit',
  'LimitList',
  'InvitedMember',
  'JoinedMember',
  'JoinedMemberEdges',
  'Member',
  'Movement',
  'PaymentAdvice',
  'PaymentAdviceEdges',
  'Quote',
  'QuoteEdges',
  'ReceivingDetails',
  'RemovedMember',
  'RecipientVerification',
  'SandboxClock',
  'ServiceAccount',
  'ServiceAccountKey',
  'ServiceAccountKeyWithSecret',
  'Statement',
  'StatementAccount',
  'StatementAccountEdges',
  'StatementEdges',
  'WebhookAttempt',
  'WebhookDelivery',
  'WebhookEndpoint',
  'WebhookEndpointWithSecret',
  'WebhookReplay',
];

export interface Schema {
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

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Schemas };
}

interface DocumentedOperation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, DocumentedResponse>>;
}

interface JsonContent {
  schema: Schema;
}

interface DocumentedResponse {
  readonly content?: { readonly 'application/json'?: JsonContent };
}

/**
 * Validates every successful response of an upstream before a caller gets it. It enforces the published interface: the JSON types of its
 * fields, the fields it requires, and {@link PUBLISHED_LIMITS}. It passes unchanged what that interface leaves open: fields of ours,
 * unknown fields, values such as times and statuses, and records without published fields. A message names the field, never its value.
 *
 * The schemas come from our OpenAPI document, whose `x-provenance` marks the published parts. A schema is compiled at the first response
 * of its operation.
 */
export function responseValidator(): Inspect {
  const { paths, components } = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as Document;
  const { schemas } = components;
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const successes = operations.map((operation) => [operation.operationId, successOf(operation)] as const);
  // Schemas are not validated: a spec does that for the document, and it would double the time of a start.
  const ajv = new Ajv({ strict: false, validateFormats: false, validateSchema: false, meta: false });
  ajv.addSchema({
    $id: 'interface',
    components: { schemas: mapped(Object.entries(schemas), (schema, name) => enforced(schema, schemas, name)) },
    operations: mapped(successes, (schema) => enforced(schema ?? {}, schemas)),
  });
  return ({ operation, value }) => {
    if (isDeeperThan(DEPTH_MAX, value)) return `it is nested deeper than ${DEPTH_MAX} levels`;
    const check = ajv.getSchema(`interface#/operations/${operation}`);
    return check === undefined || check(value) ? undefined : messageOf(check.errors?.[0]);
  };
}

/** Whether a value is nested deeper. Its serialization is recursive, so depth could exhaust the stack. */
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

export function contentOf({ responses }: DocumentedOperation): JsonContent | undefined {
  return (responses['200'] ?? responses['201'] ?? responses['202'])?.content?.['application/json'];
}

const successOf = (operation: DocumentedOperation): Schema | undefined => contentOf(operation)?.schema;

/** A schema without descriptions, and without rules that another deployment need not follow. */
function enforced(schema: Schema, schemas: Schemas, name = ''): Schema {
  if (WITHOUT_FIELDS.includes(name)) return { type: 'object', properties: { edges: { type: 'object' } } };
  const isOurs = ONLY_OURS.includes(name);
  const { type, $ref, properties, items, allOf, additionalProperties } = schema;
  const inner = (one: Schema) => enforced(one, schemas);
  return {
    ...(type !== undefined && { type }),
    ...($ref !== undefined && { $ref }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: inner(additionalProperties) }),
    ...(properties && {
      properties: mapped(Object.entries(properties), (field, fieldName) =>
        isOurs
          ? { ...inner(field), ...limitsOf(field) }
          : { ...publishedPart(field, schemas), ...PUBLISHED_LIMITS[`${name}.${fieldName}`] },
      ),
      required: requiredOf(schema, schemas, name),
    }),
    ...(items && { items: inner(items) }),
    ...(allOf && { allOf: allOf.map(inner) }),
  };
}

/** The rules that the published interface states for a field of one of its records. */
function publishedPart(field: Schema, schemas: Schemas): Schema {
  switch (field['x-provenance']) {
    case 'ours':
      return {};
    // The published interface states the type only; clients expect more of the value.
    case 'known':
      return { type: field['type'] };
    default:
      return enforced(field, schemas);
  }
}

function limitsOf({ minimum, maximum, pattern }: Schema): Schema {
  return {
    ...(minimum !== undefined && { minimum }),
    ...(maximum !== undefined && { maximum }),
    ...(pattern === AMOUNT && { pattern }),
  };
}

/** `edges` is required only if one of its fields is. */
function requiredOf({ required = [], properties = {} }: Schema, schemas: Schemas, name: string): readonly string[] {
  if (NOTHING_REQUIRED.includes(name)) return [];
  const isEnforced = (field: string) => ONLY_OURS.includes(name) || properties[field]?.['x-provenance'] !== 'ours';
  return required.filter(
    (field) => isEnforced(field) && (field !== 'edges' || hasRequiredField(properties['edges'], schemas)),
  );
}

function hasRequiredField(edges: Schema | undefined, schemas: Schemas): boolean {
  const named = edges?.$ref ?? edges?.allOf?.[0]?.$ref;
  const target = named === undefined ? edges : schemas[named.slice('#/components/schemas/'.length)];
  return (target?.required ?? []).length > 0;
}

/** Such as `/edges/balance/amount must be integer`. The name of an unknown field is cut. */
function messageOf(error: ErrorObject | undefined): string {
  const { instancePath = '', message = 'violates the interface' } = error ?? {};
  return `${instancePath.slice(0, 200) || '/'} ${message}`;
}

/** What a schema says about a value without excluding any. */
const NOTES = ['title', 'description', 'example', 'examples', 'deprecated', 'x-provenance'];

/**
 * The document of a gateway. For a successful response it promises what the gateway checks, and describes the rest: another deployment need
 * not follow the rules of ours.
 *
 * @param text the document of a deployment with its own books, as JSON
 */
export function checkedDocument(text: string): string {
  const document = JSON.parse(text) as Document;
  const { paths, components } = document;
  const { schemas } = components;
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const sent = namesIn(operations.map(successOf), schemas);
  const checked = (schema: Schema, name?: string) => noted(schema, enforced(schema, schemas, name));
  for (const operation of operations) {
    const content = contentOf(operation);
    if (content) content.schema = checked(content.schema);
  }
  const changed = mapped(Object.entries(schemas), (schema, name) => (sent.has(name) ? checked(schema, name) : schema));
  return JSON.stringify({ ...document, components: { ...components, schemas: changed } });
}

/** The rules, with the notes of the schema that they were made from, down to its nested schemas. */
function noted(schema: Schema, rules: Schema): Schema {
  const { properties, items, additionalProperties, allOf } = schema;
  return {
    ...Object.fromEntries(NOTES.flatMap((note) => (note in schema ? [[note, schema[note]]] : []))),
    ...rules,
    ...(properties && {
      properties: mapped(Object.entries(properties), (field, name) => noted(field, rules.properties?.[name] ?? {})),
    }),
    ...(items && rules.items && { items: noted(items, rules.items) }),
    ...(typeof additionalProperties === 'object' &&
      typeof rules.additionalProperties === 'object' && {
        additionalProperties: noted(additionalProperties, rules.additionalProperties),
      }),
    ...(allOf && rules.allOf && { allOf: allOf.map((one, index) => noted(one, rules.allOf![index]!)) }),
  };
}

/** The names of the schemas that the values of these are made of. */
function namesIn(values: unknown, schemas: Schemas, found = new Set<string>()): Set<string> {
  for (const [, name] of JSON.stringify(values).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (found.has(name!)) continue;
    found.add(name!);
    namesIn(schemas[name!], schemas, found);
  }
  return found;
}
