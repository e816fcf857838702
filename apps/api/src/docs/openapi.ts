import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { RefusalReason } from '@banking/domain';
import { ROWS } from '../access/access-check.js';
import { ErrorDto } from '../http/refusal.filter.js';
import { PENDING_DOCUMENTATION, type PendingDocumentation } from '../access/operation.decorator.js';
import { RESPONSE_HEADERS } from './response-headers.js';
import { documentedOperation } from './documented-operation.js';
import { ErrorResponses } from './error-responses.js';
import { DEMO_EXAMPLES, type ExampleSource, type FieldExamples, type OperationObject } from './examples.js';
import { introduction } from './introduction.js';
import { LIVE_EXAMPLES } from './live-examples.js';
import { WebhookEventDto, webhooks, WebhookTestDto } from './webhooks.js';

/** The version of the package. docs/integrate/conventions.md lists the changes of each version. */
const VERSION = (JSON.parse(readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8')) as { version: string })
  .version;

/** The properties of a deployment that its document shows. */
export interface Deployment {
  /** Whether it has the demo data, which examples and texts then name. */
  readonly sandbox: boolean;
  /** The address under which callers reach it, if known. */
  readonly publicUrl?: string | undefined;
  /** The refusals that every operation may make beside its own. */
  readonly refusalsOfAll?: readonly RefusalReason[];
}

type Components = NonNullable<OpenAPIObject['components']>;

/** The OpenAPI document, from the declared routes and the recorded responses. */
export async function createDocument(
  app: INestApplication,
  { sandbox, publicUrl, refusalsOfAll = [] }: Deployment,
): Promise<OpenAPIObject> {
  const outline = new DocumentBuilder()
    .setTitle('Banking transfer service')
    .setVersion(VERSION)
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer(publicUrl ?? '/', 'This deployment')
    .addTag('Apps', 'Your apps, their users, and the workspaces that you may act in.')
    .addTag('Products', 'Products that an account can be opened from, one for each currency.')
    .addTag('Accounts', 'Accounts with one currency each, and their statements.')
    .addTag('Corridors', 'Destinations of payments, with payout methods, limits and delivery times.')
    .addTag('Recipients', 'The payees of the workspace, and the details that each corridor requires.')
    .addTag('Quotes', 'Prices of payments, and the amounts that arrive.')
    .addTag('Orders', 'Payment instructions: instant, scheduled and recurring.')
    .addTag('Limits', 'What may be paid in an order, a day or a month.')
    .addTag('Transfers', 'Movements of money, with balances and tracking.')
    .addTag('Transactions', 'What executes transfers, with all of its transfers and the tracking.')
    .addTag('Events', 'What happened in the workspace, in order, for programs that follow it.')
    .addTag('Audit trail', 'Who changed what, for administrators.')
    .addTag('Sandbox', 'Only in a sandbox (`SANDBOX=on`): create money and events of the network.')
    .addTag('Health', 'For supervisors and load balancers.')
    .addBearerAuth({
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: [
        'An access token of your identity provider, without the word Bearer.',
        ...(sandbox ? ['In a demo deployment: `npm run -s token -- ada@northwind.example`.'] : []),
      ].join(' '),
    })
    .build();
  const options = { autoTagControllers: false, extraModels: [ErrorDto, WebhookEventDto, WebhookTestDto] };
  const source = sandbox ? DEMO_EXAMPLES : LIVE_EXAMPLES;
  const declared = withPublishedNames(SwaggerModule.createDocument(app, outline, options));
  const document = withFieldExamples(withUsedTags(declared), source);
  const errors = new ErrorResponses();
  const operations = completeOperations(document, refusalsOfAll, { source, errors });
  const responses = errors.components() as NonNullable<Components['responses']>;
  document.components = { ...document.components, responses, headers: usedHeaders(document.paths, responses) };
  const reasons = new Set(operations.flatMap(({ refusals }) => refusals));
  document.info.description = introduction(reasons, { sandbox, publicUrl });
  const ofWebhooks = (await webhooks(source)) as unknown as NonNullable<OpenAPIObject['webhooks']>;
  return { ...asOpenApi31(document), webhooks: ofWebhooks };
}

type Schemas = NonNullable<Components['schemas']>;
type Properties = Readonly<Record<string, Schemas[string]>>;

function withFieldExamples(document: OpenAPIObject, { fields }: ExampleSource): OpenAPIObject {
  const schemas = Object.entries(document.components?.schemas ?? {}).map(([name, schema]) => [
    name,
    withExamples(schema, fields[name] ?? {}),
  ]);
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(schemas) as Schemas } };
}

function withExamples(schema: Schemas[string], examples: FieldExamples): Schemas[string] {
  const { properties } = schema as { readonly properties?: Properties };
  if (properties === undefined) return schema;
  const changed = Object.entries(properties).map(([field, property]) => {
    const example = examples[field];
    if (example === undefined) return [field, property];
    return [field, typeof example === 'string' ? { ...property, example } : withExamples(property, example)];
  });
  return { ...schema, properties: Object.fromEntries(changed) as Properties };
}

/** Removes the tags of operations that this deployment does not have. */
function withUsedTags(document: OpenAPIObject): OpenAPIObject {
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item) as OperationObject[]);
  const used = new Set(operations.flatMap(({ tags }) => tags ?? []));
  return { ...document, tags: (document.tags ?? []).filter(({ name }) => used.has(name)) };
}

/** The headers of the responses of this deployment. */
function usedHeaders(...parts: readonly object[]): typeof RESPONSE_HEADERS {
  const text = JSON.stringify(parts);
  const used = Object.entries(RESPONSE_HEADERS).filter(([name]) => text.includes(`"#/components/headers/${name}"`));
  return Object.fromEntries(used) as typeof RESPONSE_HEADERS;
}

/** The fields of a base class would come before the id. */
function withRequiredFirst(schema: Schemas[string]): Schemas[string] {
  const { properties, required = [] } = schema as {
    readonly properties?: Properties;
    readonly required?: readonly string[];
  };
  if (properties === undefined) return schema;
  const isOptional = (field: string) => Number(!required.includes(field));
  const fields = Object.entries(properties).sort(([one], [other]) => isOptional(one) - isOptional(other));
  return { ...schema, properties: Object.fromEntries(fields) as Properties };
}

/** Renames the schemas from our classes to the names of the interface. */
function withPublishedNames(document: OpenAPIObject): OpenAPIObject {
  const schemas = Object.entries(document.components?.schemas ?? {}).map(([name, schema]) => [
    published(name),
    withRequiredFirst(schema),
  ]);
  const renamed = { ...document, components: { ...document.components, schemas: Object.fromEntries(schemas.sort()) } };
  const refs = /"\$ref":"#\/components\/schemas\/(\w+)"/g;
  const text = JSON.stringify(renamed).replace(
    refs,
    (_, name: string) => `"$ref":"#/components/schemas/${published(name)}"`,
  );
  return JSON.parse(text) as OpenAPIObject;
}

const published = (className: string) => className.replace(/Dto$/, '');

/** The refusals of every operation that creates or changes something. */
const OF_CHANGES: readonly RefusalReason[] = ['outcome_unknown'];

/** Completes every operation in place. @returns their pending documentation, with the refusals of all operations */
function completeOperations(
  { paths }: OpenAPIObject,
  refusalsOfAll: readonly RefusalReason[],
  parts: Parameters<typeof documentedOperation>[4],
): PendingDocumentation[] {
  const items = Object.entries(paths) as unknown as [
    string,
    Record<string, OperationObject & { [PENDING_DOCUMENTATION]: PendingDocumentation }>,
  ][];
  return items.flatMap(([path, item]) =>
    Object.entries(item).map(([method, { [PENDING_DOCUMENTATION]: outline, ...declared }]) => {
      const more = method === 'get' ? refusalsOfAll : [...OF_CHANGES, ...refusalsOfAll];
      const pending = ROWS[outline.operation].access === 'public' ? outline : withRefusals(outline, more);
      Object.assign(item, { [method]: documentedOperation(path, method, declared, pending, parts) });
      return pending;
    }),
  );
}

const withRefusals = (pending: PendingDocumentation, more: readonly RefusalReason[]): PendingDocumentation => ({
  ...pending,
  refusals: [...pending.refusals, ...more],
});

type Json = Readonly<Record<string, unknown>>;

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const SCHEMA = ['items', 'additionalProperties', 'not'];
const SCHEMAS = ['allOf', 'anyOf', 'oneOf'];

/**
 * Writes a document of OpenAPI 3.0, which `@nestjs/swagger` makes, as one of OpenAPI 3.1, whose schemas are JSON Schema 2020-12: the
 * example of a schema is a list of `examples`, and a `$ref` stands beside a description instead of in an `allOf` of one.
 */
function asOpenApi31(document: OpenAPIObject): OpenAPIObject {
  const { components, paths, ...others } = document;
  const { schemas = {}, ...more } = components ?? {};
  return {
    ...others,
    openapi: '3.1.0',
    paths: rewritten(paths) as OpenAPIObject['paths'],
    components: { ...(rewritten(more) as object), schemas: mapped(schemas as Json, schemaOf) as typeof schemas },
  };
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const mapped = (object: Json, change: (value: Json) => Json): Json =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value as Json)]));

/** Rewrites a part outside of schemas. The values of examples stay unchanged. */
function rewritten(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rewritten);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (name === 'schema') return [name, schemaOf(inner as Json)];
      return [name, name === 'example' || name === 'examples' ? inner : rewritten(inner)];
    }),
  );
}

function schemaOf(schema: Json): Json {
  const { example, allOf, properties, ...others } = schema;
  if ('nullable' in schema) throw new Error('a schema is nullable: the interface never sends null');
  const [only, ...rest] = (allOf ?? []) as readonly Json[];
  const isReference = only?.['$ref'] !== undefined && rest.length === 0;
  const whole: Json = {
    ...(isReference ? only : { ...(allOf !== undefined && { allOf }) }),
    ...others,
    ...(isObject(properties) && { properties: mapped(properties, schemaOf) }),
    ...(example !== undefined && { examples: [example] }),
  };
  return Object.fromEntries(
    Object.entries(whole).map(([name, value]) => {
      if (SCHEMA.includes(name) && isObject(value)) return [name, schemaOf(value)];
      if (SCHEMAS.includes(name)) return [name, (value as readonly Json[]).map(schemaOf)];
      return [name, value];
    }),
  );
}
