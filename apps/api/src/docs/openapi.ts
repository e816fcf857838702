import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ErrorDto } from '../http/error.dto.js';
import { DRAFT, type Draft } from '../http/operation.decorator.js';
import { ANSWER_HEADERS, answerHeaders } from './answer-headers.js';
import { answersOf, examplesText, filledIn } from './examples.js';
import { introduction } from './introduction.js';
import { refusalAnswers } from './refusal-answers.js';

type OperationObject = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Answer = { headers?: object; content?: { 'application/json'?: object } };

/** The OpenAPI document, made from the routes as they are declared and the answers that were recorded. */
export function createDocument(app: INestApplication): OpenAPIObject {
  const outline = new DocumentBuilder()
    .setTitle('Banking transfer service')
    .setVersion('1.0.0')
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer('/', 'This deployment')
    .addTag('Apps', 'Your apps, who uses them, and which workspaces you may act in.')
    .addTag('Products', 'What can be held and sent: one product for each currency.')
    .addTag('Corridors', 'Where money can go, how, how much and how fast.')
    .addTag('Transfers', 'What moved, what it left behind, and how far it has come.')
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
  const document = withPublishedNames(SwaggerModule.createDocument(app, outline, options));
  const drafts = completeOperations(document);
  document.components = { ...document.components, headers: ANSWER_HEADERS };
  document.info.description = introduction(new Set(drafts.flatMap(({ refusals }) => refusals)));
  return document;
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

/** Gives every operation its answers and examples, and says what they were made from. */
function completeOperations(document: OpenAPIObject): Draft[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, OperationObject>).map(([method, declared]) => {
      const { [DRAFT]: draft, ...operation } = declared as OperationObject & { [DRAFT]: Draft };
      (item as Record<string, OperationObject>)[method] = completed(path, operation, draft);
      return draft;
    }),
  );
}

const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'The `ETag` of the answer you have (RFC 9110). Where it still holds, the answer is 304 without a body.',
  schema: { type: 'string' },
  'x-provenance': 'ours',
} as const;

const NOT_MODIFIED = { description: 'What you have still holds. There is no body.' };

function completed(path: string, operation: OperationObject, draft: Draft): OperationObject {
  const isPublic = operation.security?.length === 0;
  const isDeprecated = operation.deprecated === true;
  const { hasETag } = draft;
  const parameters = [...(operation.parameters ?? []), ...(hasETag ? [IF_NONE_MATCH] : [])];
  const answers: [string, Answer][] = [
    ...Object.entries(operation.responses as Record<string, Answer>).map(([status, answer]) => [status, withExamples(answer, draft)] as [string, Answer]), // prettier-ignore
    ...(hasETag ? [['304', NOT_MODIFIED] as [string, Answer]] : []),
    ...Object.entries(refusalAnswers(draft.refusals, path)),
  ];
  const responses = answers.map(([status, answer]) => {
    const headers = { ...answerHeaders(Number(status), { isPublic, isDeprecated, hasETag }), ...answer.headers };
    return [status, { ...answer, headers }];
  });
  const texts = [operation.description, examplesText(path, isPublic, parameters, draft.examples)];
  return {
    ...operation,
    description: texts.filter(Boolean).join('\n\n'),
    parameters: filledIn(parameters, draft.examples),
    responses: Object.fromEntries(responses) as OperationObject['responses'],
  };
}

function withExamples(answer: Answer, draft: Draft): Answer {
  const json = answer.content?.['application/json'];
  if (!json || draft.examples.length === 0) return answer;
  return { ...answer, content: { 'application/json': { ...json, examples: answersOf(draft) } } };
}
