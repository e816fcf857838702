import { successOf, type Route } from '../documented/document.js';
import { IDENTIFIERS } from './classification.js';
import { nameOf, type Position } from './positions.js';

/** A request as `sendRequest` sends it, without its caller. */
export interface ComposedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
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

/**
 * The request of an operation.
 *
 * @param identifierOf the value of a position that holds an identifier; undefined omits it
 */
export function requestOf(
  route: Route,
  { accept, values }: Variant,
  identifierOf: (position: Position, isRequired: boolean) => string | number | undefined,
): ComposedRequest {
  const { operation } = route;
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
  const body = bodyOf(route, values, identifierOf);
  return {
    method: route.method,
    path: query.size > 0 ? `${path}?${query.toString()}` : path,
    headers,
    ...(body && { body }),
  };
}

function bodyOf(
  { operation }: Route,
  values: Variant['values'],
  identifierOf: (position: Position, isRequired: boolean) => string | number | undefined,
): Record<string, unknown> | undefined {
  if (!operation.requestBody) return undefined;
  const { examples } = operation.requestBody.content['application/json'];
  const chosen = examples[BODIES[operation.operationId] ?? ''] ?? Object.values(examples)[0];
  const body = { ...(chosen?.value as Readonly<Record<string, unknown>>) };
  for (const name of Object.keys(IDENTIFIERS).filter((known) => known.startsWith('body '))) {
    const member = name.slice('body '.length);
    if (/[.*]/.test(member)) throw new Error(`${name} is nested: a request of a case sets members of the body only`);
    const value = identifierOf({ in: 'body', name: member }, Object.hasOwn(body, member));
    if (value !== undefined) body[member] = value;
  }
  for (const [name, value] of Object.entries(values)) {
    if (name.startsWith('body ')) body[name.slice('body '.length)] = value;
  }
  return body;
}
