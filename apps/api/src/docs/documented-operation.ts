import type { PendingDocumentation } from '../access/operation.decorator.js';
import { approvable, type AuditEvent, type Order, type Statement } from '@banking/domain';
import type { OperationId } from '../access/access-check.js';
import { statementCsv } from '../accounts/statement-csv.js';
import { auditCsv } from '../audit-events/audit-events.controller.js';
import { responseHeaders } from './response-headers.js';
import {
  commandOf,
  type Example,
  type ExampleSource,
  filledIn,
  type OperationObject,
  type ParameterObject,
  type RecordedResponses,
  tableOf,
} from './examples.js';
import type { ErrorResponses } from './error-responses.js';

interface DeclaredResponse {
  readonly description: string;
  readonly headers?: object;
  readonly content?: {
    readonly 'application/json'?: object;
    readonly 'text/csv'?: object;
    readonly 'application/xml'?: object;
  };
}

const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description:
    'The `ETag` of an earlier response (RFC 9110). If it is still valid, the response is 304 without a body.',
  schema: { type: 'string' },
} as const;

const NOT_MODIFIED = { description: 'The earlier response is still valid. There is no body.' };

interface DocumentParts {
  readonly source: ExampleSource;
  /** Gets the error responses of the operation. */
  readonly errors: ErrorResponses;
}

/** Completes an operation that a route declares: with its examples, headers and refusals. */
export function documentedOperation(
  path: string,
  method: string,
  declared: OperationObject,
  pending: PendingDocumentation,
  { source, errors }: DocumentParts,
): OperationObject {
  const { hasETag, hasCanonical, isPaged, isCreation, refusals, statedParameters } = pending;
  const examples = source.requests(pending.operation);
  const isPublic = declared.security?.length === 0;
  const marks = {
    isPublic,
    hasCanonical,
    hasETag,
    isPaged,
    isCreation,
    isGateway: refusals.includes('upstream_error'),
    isChange: refusals.includes('outcome_unknown'),
  };
  const listed = [...(declared.parameters ?? []), ...(hasETag ? [IF_NONE_MATCH] : [])] as ParameterObject[];
  const parameters = pathFirst(path, listed).map((parameter) => withProvenance(parameter, declared, statedParameters));
  const declaredResponses: Record<string, DeclaredResponse> = {
    ...withExamples(declared.responses as Record<string, DeclaredResponse>, (status) =>
      examplesOf(pending.operation, status, source),
    ),
    ...(hasETag && { 304: NOT_MODIFIED }),
  };
  const responses = Object.entries(declaredResponses).map(([status, response]) => {
    const headers = { ...responseHeaders(Number(status), marks), ...response.headers };
    return [status, { ...response, headers }] as const;
  });
  const [first = {}] = examples;
  const description = [
    declared.description,
    tableOf(parameters, examples),
    commandOf(path, parameters, first, isPublic, method),
  ];
  return {
    ...declared,
    ...(declared.requestBody && { requestBody: withBodies(declared.requestBody, examples) }),
    description: description.filter((part) => part !== undefined).join('\n\n'),
    parameters: filledIn(parameters, examples),
    responses: {
      ...Object.fromEntries(responses),
      ...errors.referencesOf({ operation: pending.operation, path, refusals, marks }),
    } as OperationObject['responses'],
  };
}

/**
 * Adds the provenance of a parameter. The published interface names the parameters of its paths without a type; callers expect them
 * to be the ids of their resources.
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

/** Sorts the parameters of the path first, in the order of the path: the order Nest gives them depends on the compiler. */
function pathFirst(path: string, parameters: readonly ParameterObject[]): ParameterObject[] {
  const isInPath = ({ in: place }: ParameterObject) => place === 'path';
  const placeOf = ({ name }: ParameterObject) => path.indexOf(`{${name}}`);
  return [
    ...parameters.filter(isInPath).sort((one, other) => placeOf(one) - placeOf(other)),
    ...parameters.filter((parameter) => !isInPath(parameter)),
  ];
}

function withBodies(requestBody: object, examples: readonly Example[]): NonNullable<OperationObject['requestBody']> {
  const { content } = requestBody as { readonly content: { readonly 'application/json': object } };
  if (examples.length === 0) return requestBody as NonNullable<OperationObject['requestBody']>;
  const bodies = examples.map(({ name, summary, body }) => [name, { summary, value: body }] as const);
  const json = { ...content['application/json'], examples: Object.fromEntries(bodies) };
  return { ...requestBody, content: { 'application/json': json } } as NonNullable<OperationObject['requestBody']>;
}

/** The recorded responses with a status. The demo data has no rules, so that what waits for approvals is made of what was recorded. */
function examplesOf(operation: OperationId, status: string, source: ExampleSource): RecordedResponses {
  const group = approvable(operation)?.group;
  const own = source.responses(operation);
  if (group === undefined || status !== '202') return own;
  const [[name, { summary, value }] = ['', { summary: '' }]] = Object.entries(
    group === 'orders' ? own : source.responses('getApproval'),
  );
  if (value === undefined) return {};
  return { [name]: { summary, value: group === 'orders' ? asWaiting(value as Order) : { approval: value } } };
}

/** An order as it is placed if it needs an approval. */
const asWaiting = ({ edges, ...order }: Order): object => ({
  ...{ ...order, status: 'active', approvalID: 1 },
  edges: {
    ...edges,
    executions: edges.executions?.map(({ executedAt: _, ...execution }) => ({
      ...{ ...execution, status: 'awaiting_approval', edges: {} },
    })),
  },
});

function withExamples(
  responses: Record<string, DeclaredResponse>,
  examplesOf: (status: string) => RecordedResponses,
): Record<string, DeclaredResponse> {
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => {
      const { 'application/json': json, 'text/csv': csv, ...others } = response.content ?? {};
      const examples = examplesOf(status);
      if (!json || Object.keys(examples).length === 0) return [status, response];
      const tables = csv && { 'text/csv': { ...csv, examples: asTables(examples) } };
      return [status, { ...response, content: { 'application/json': { ...json, examples }, ...tables, ...others } }];
    }),
  );
}

/** Writes recorded JSON responses as the tables of the same operation: entries of the audit trail, or a statement. */
function asTables(examples: RecordedResponses) {
  const tables = Object.entries(examples).map(([name, { value, ...example }]) => [
    name,
    { ...example, ...(value !== undefined && { value: tableOfRecorded(value) }) },
  ]);
  return Object.fromEntries(tables) as object;
}

const tableOfRecorded = (value: unknown): string =>
  Array.isArray(value) ? auditCsv(value as readonly AuditEvent[]) : statementCsv(value as Statement);
