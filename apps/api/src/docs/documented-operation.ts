import type { Draft } from '../http/operation.decorator.js';
import type { Statement } from '@banking/domain';
import { statementCsv } from '../accounts/statement-csv.js';
import { answerHeaders } from './answer-headers.js';
import {
  commandOf,
  filledIn,
  type OperationObject,
  type ParameterObject,
  recordedAnswers,
  tableOf,
} from './examples.js';
import { refusalAnswers } from './refusal-answers.js';

interface Answer {
  readonly description: string;
  readonly headers?: object;
  readonly content?: { readonly 'application/json'?: object; readonly 'text/csv'?: object };
}

const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'The `ETag` of the answer you have (RFC 9110). Where it still holds, the answer is 304 without a body.',
  schema: { type: 'string' },
} as const;

const NOT_MODIFIED = { description: 'What you have still holds. There is no body.' };

/** An operation as its route declares it, with its examples, its headers and everything it may be refused for. */
export function documentedOperation(
  path: string,
  method: string,
  declared: OperationObject,
  draft: Draft,
): OperationObject {
  const { hasETag, isPaged, isCreation, examples, refusals, statedParameters } = draft;
  const isPublic = declared.security?.length === 0;
  const marks = {
    isPublic,
    isDeprecated: declared.deprecated === true,
    hasETag,
    isPaged,
    isCreation,
    isGateway: refusals.includes('upstream_error'),
    isChange: refusals.includes('outcome_unknown'),
  };
  const inOrder = pathFirst(path, [...(declared.parameters ?? []), ...(hasETag ? [IF_NONE_MATCH] : [])] as ParameterObject[]); // prettier-ignore
  const parameters = inOrder.map((parameter) => withProvenance(parameter, declared, statedParameters));
  const answers: Record<string, Answer> = {
    ...withExamples(declared.responses as Record<string, Answer>, draft),
    ...(hasETag && { 304: NOT_MODIFIED }),
    ...refusalAnswers(refusals, path),
  };
  const responses = Object.entries(answers).map(([status, answer]) => {
    const headers = { ...answerHeaders(Number(status), marks), ...answer.headers };
    return [status, { ...answer, headers }] as const;
  });
  const [first] = examples;
  const description = [
    declared.description,
    tableOf(parameters, examples),
    first && commandOf(path, parameters, first, isPublic, method),
  ];
  return {
    ...declared,
    ...(declared.requestBody && { requestBody: withBodies(declared.requestBody, draft) }),
    description: description.filter((part) => part !== undefined).join('\n\n'),
    parameters: filledIn(parameters, examples),
    responses: Object.fromEntries(responses) as OperationObject['responses'],
  };
}

/**
 * Marks where a parameter comes from. The path of a published operation names its parameters without showing them: callers expect
 * them to be the ids of their resources.
 */
function withProvenance(
  parameter: ParameterObject,
  operation: OperationObject,
  stated: readonly string[],
): ParameterObject {
  if ('x-provenance' in parameter || stated.includes(parameter.name)) return parameter;
  const isOfPublishedPath = parameter.in === 'path' && (operation as Marked)['x-provenance'] === 'stated';
  return { ...parameter, ...{ 'x-provenance': isOfPublishedPath ? 'known' : 'ours' } };
}

interface Marked {
  readonly 'x-provenance'?: string;
}

/** In which order Nest names them depends on the compiler: those of the path come first, as they stand there. */
function pathFirst(path: string, parameters: readonly ParameterObject[]): ParameterObject[] {
  const isInPath = ({ in: place }: ParameterObject) => place === 'path';
  const placeOf = ({ name }: ParameterObject) => path.indexOf(`{${name}}`);
  return [
    ...parameters.filter(isInPath).sort((one, other) => placeOf(one) - placeOf(other)),
    ...parameters.filter((parameter) => !isInPath(parameter)),
  ];
}

function withBodies(requestBody: object, { examples }: Draft): NonNullable<OperationObject['requestBody']> {
  const { content } = requestBody as { readonly content: { readonly 'application/json': object } };
  const bodies = examples.map(({ name, summary, body }) => [name, { summary, value: body }] as const);
  const json = { ...content['application/json'], examples: Object.fromEntries(bodies) };
  return { ...requestBody, content: { 'application/json': json } } as NonNullable<OperationObject['requestBody']>;
}

function withExamples(answers: Record<string, Answer>, draft: Draft): Record<string, Answer> {
  if (draft.examples.length === 0) return answers;
  const examples = recordedAnswers(draft);
  return Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => {
      const { 'application/json': json, 'text/csv': csv } = answer.content ?? {};
      if (!json) return [status, answer];
      const tables = csv && { 'text/csv': { ...csv, examples: asTables(examples) } };
      return [status, { ...answer, content: { 'application/json': { ...json, examples }, ...tables } }];
    }),
  );
}

/** What was recorded as JSON, as the same operation writes it in CSV: statements are all there is. */
function asTables(examples: ReturnType<typeof recordedAnswers>) {
  const tables = Object.entries(examples).map(([name, { value, ...example }]) => [
    name,
    { ...example, ...(value !== undefined && { value: statementCsv(value as Statement) }) },
  ]);
  return Object.fromEntries(tables) as object;
}
