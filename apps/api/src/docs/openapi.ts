import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { RefusalReason } from '@banking/domain';
import { ACCESS } from '../access/matrix.js';
import { ErrorDto } from '../http/error.dto.js';
import { DRAFT, type Draft } from '../http/operation.decorator.js';
import { ANSWER_HEADERS } from './answer-headers.js';
import { asOpenApi31 } from './openapi-3-1.js';
import { documentedOperation } from './documented-operation.js';
import type { OperationObject } from './examples.js';
import { introduction } from './introduction.js';

/** That of the package: docs/interface-changes.md says what changed with each. */
const VERSION = (JSON.parse(readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8')) as { version: string })
  .version;

/** What of a deployment stands in its document. */
export interface Deployment {
  /** Under which address callers reach it, where that is known. */
  readonly publicUrl?: string | undefined;
  /** What every operation that asks the backing may be refused for besides. */
  readonly ofBacking?: readonly RefusalReason[];
}

/** The OpenAPI document, made from the routes as they are declared and the answers that were recorded. */
export function createDocument(app: INestApplication, { publicUrl, ofBacking = [] }: Deployment = {}): OpenAPIObject {
  const outline = new DocumentBuilder()
    .setTitle('Banking transfer service')
    .setVersion(VERSION)
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer(publicUrl ?? '/', 'This deployment')
    .addTag('Apps', 'Your apps, who uses them, and which workspaces you may act in.')
    .addTag('Products', 'What can be held and sent: one product for each currency.')
    .addTag('Accounts', 'Where your money is, one currency each.')
    .addTag('Corridors', 'Where money can go, how, how much and how fast.')
    .addTag('Recipients', 'Whom you pay, and what has to be known about them.')
    .addTag('Quotes', 'What a payment costs, and what arrives.')
    .addTag('Orders', 'What you instruct.')
    .addTag('Transfers', 'What moved, what it left behind, and how far it has come.')
    .addTag(
      'Sandbox',
      'Only where the deployment is a sandbox (`SANDBOX=on`): what elsewhere the world does, such as sending money.',
    )
    .addTag('Health', 'For supervisors and load balancers.')
    .addBearerAuth({
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description:
        'An access token of your identity provider, without the word Bearer. In a demo deployment: `npm run -s token -- ada@northwind.example`.',
    })
    .build();
  const options = { autoTagControllers: false, extraModels: [ErrorDto] };
  const document = withUsedTags(withPublishedNames(SwaggerModule.createDocument(app, outline, options)));
  const drafts = completeOperations(document, ofBacking);
  document.components = { ...document.components, headers: usedHeaders(document) };
  document.info.description = introduction(new Set(drafts.flatMap(({ refusals }) => refusals)), publicUrl);
  return asOpenApi31(document);
}

/** Without the headings of operations that this deployment does not have. */
function withUsedTags(document: OpenAPIObject): OpenAPIObject {
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item) as OperationObject[]);
  const used = new Set(operations.flatMap(({ tags }) => tags ?? []));
  return { ...document, tags: (document.tags ?? []).filter(({ name }) => used.has(name)) };
}

/** Without those of answers that this deployment never gives. */
function usedHeaders({ paths }: OpenAPIObject): typeof ANSWER_HEADERS {
  const text = JSON.stringify(paths);
  const used = Object.entries(ANSWER_HEADERS).filter(([name]) => text.includes(`"#/components/headers/${name}"`));
  return Object.fromEntries(used) as typeof ANSWER_HEADERS;
}

/** Schemas carry the names of the interface, not those of our classes. */
function withPublishedNames(document: OpenAPIObject): OpenAPIObject {
  const schemas = Object.entries(document.components?.schemas ?? {}).map(([name, schema]) => [published(name), schema]);
  const renamed = { ...document, components: { ...document.components, schemas: Object.fromEntries(schemas.sort()) } };
  const refs = /"\$ref":"#\/components\/schemas\/(\w+)"/g;
  const text = JSON.stringify(renamed).replace(
    refs,
    (_, name: string) => `"$ref":"#/components/schemas/${published(name)}"`,
  );
  return JSON.parse(text) as OpenAPIObject;
}

const published = (className: string) => className.replace(/Dto$/, '');

/** What every operation that creates or changes something may be refused for. */
const OF_CHANGES: readonly RefusalReason[] = ['outcome_unknown'];

/** Finishes every operation in place, and says what they were made from. */
function completeOperations({ paths }: OpenAPIObject, ofBacking: readonly RefusalReason[]): Draft[] {
  const items = Object.entries(paths) as unknown as [string, Record<string, OperationObject & { [DRAFT]: Draft }>][];
  return items.flatMap(([path, item]) =>
    Object.entries(item).map(([method, { [DRAFT]: outline, ...declared }]) => {
      const more = method === 'get' ? ofBacking : [...OF_CHANGES, ...ofBacking];
      const draft = ACCESS[outline.operation] === 'public' ? outline : withRefusals(outline, more);
      Object.assign(item, { [method]: documentedOperation(path, method, declared, draft) });
      return draft;
    }),
  );
}

const withRefusals = (draft: Draft, more: readonly RefusalReason[]): Draft => ({
  ...draft,
  refusals: [...draft.refusals, ...more],
});
