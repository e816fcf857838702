/** The parts of the OpenAPI document that the specs read. */
export interface Document {
  readonly info: { readonly description: string };
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
}

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly (string | number)[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly oneOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
}

export interface DocumentedOperation {
  readonly operationId: string;
  readonly description: string;
  readonly 'x-provenance': string;
  readonly security: readonly unknown[];
  readonly parameters: readonly DocumentedParameter[];
  readonly requestBody?: {
    readonly content: {
      readonly 'application/json': {
        readonly schema: JsonSchema;
        readonly examples: Readonly<Record<string, NamedExample>>;
      };
    };
  };
  readonly responses: Readonly<Record<string, DocumentedResponse>>;
}

interface DocumentedParameter {
  readonly name: string;
  readonly in: string;
  readonly schema: JsonSchema;
  readonly required?: boolean;
  readonly example?: string | number | boolean;
  readonly examples?: Readonly<Record<string, { readonly value: string | number | boolean }>>;
}

export interface DocumentedResponse {
  readonly description: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly content?: { readonly 'application/json': { readonly examples: Readonly<Record<string, NamedExample>> } };
}

interface NamedExample {
  readonly summary: string;
  readonly value?: unknown;
}

/** One operation at its path. */
export interface Route {
  readonly method: string;
  readonly path: string;
  readonly operation: DocumentedOperation;
}

export function routesOf({ paths }: Document): Route[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

/** The named examples of a response, none for a response without a body. */
export function examplesOf(
  { responses }: DocumentedOperation,
  status: number | string,
): Readonly<Record<string, NamedExample>> {
  return responses[String(status)]?.content?.['application/json'].examples ?? {};
}

/** The reasons for which an operation may be refused, from the texts of its responses. */
export function reasonsOf({ responses }: DocumentedOperation): string[] {
  return Object.entries(responses)
    .filter(([status]) => Number(status) >= 400)
    .flatMap(([, { description }]) => {
      const reasons = description.startsWith('One of') ? /`(\w+)`/g : /^`(\w+)`:/gm;
      return [...description.matchAll(reasons)].map(([, reason = '']) => reason);
    });
}

/** A request of the document, with the example values of its parameters. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the operation requires a token. */
  readonly needsToken: boolean;
  /** Sent as JSON. */
  readonly body?: unknown;
}

/** The documented status of success. */
export function successOf({ operation }: Pick<Route, 'operation'>): number {
  // An operation that needs approvals is accepted too.
  return [200, 201, 204, 202].find((status) => operation.responses[String(status)]) ?? 200;
}

/** Whether an operation creates a resource, once for each idempotency key. */
export const takesKey = ({ operation }: Pick<Route, 'operation'>): boolean =>
  operation.parameters.some(({ name }) => name === 'Idempotency-Key');

/** The request of an operation with the values of the named example, or with its only values. */
export function callOf({ method, path, operation }: Route, name?: string): Call {
  const parameters = operation.parameters.filter(({ required, example, examples }) => required || example || examples);
  const values = new Map(parameters.map((parameter) => [parameter.name, valueOf(parameter, name)]));
  const query = new URLSearchParams();
  for (const parameter of parameters) {
    if (parameter.in === 'query') query.set(parameter.name, values.get(parameter.name) ?? '');
  }
  const headers = parameters.filter((parameter) => parameter.in === 'header').map((parameter) => parameter.name);
  return {
    method,
    path:
      path.replace(/\{(\w+)\}/g, (_, parameter: string) => values.get(parameter) ?? '') +
      (query.size > 0 ? `?${query.toString()}` : ''),
    headers: Object.fromEntries(headers.map((header) => [header, values.get(header) ?? ''])),
    needsToken: operation.security.length > 0,
    ...(operation.requestBody && { body: bodyOf(operation, name) }),
  };
}

function bodyOf({ requestBody }: DocumentedOperation, exampleName?: string): unknown {
  const choices = Object.entries(requestBody?.content['application/json'].examples ?? {});
  return (choices.find(([choice]) => choice === exampleName) ?? choices[0])?.[1].value;
}

/** A call as `fetch` sends it. */
export function requestOf({ method, headers, needsToken, body }: Call, authorization: string): RequestInit {
  const json = body !== undefined && { 'content-type': 'application/json' };
  return {
    method,
    headers: { ...headers, ...json, ...(needsToken && { authorization }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
}

/** Whether an operation without a key changes something that it can change once only. */
export const isOnce = ({ method, operation }: Route): boolean => method === 'POST' && !operation.requestBody;

/**
 * Whether an operation is of a resource that the demo data does not have: a webhook endpoint, because its worker would call it, and a service
 * account. `makeForExamples` makes what the examples name.
 */
export const isOfMade = ({ path }: Pick<Route, 'path'>): boolean =>
  /^\/(webhook-endpoints|service-accounts)/.test(path);

/**
 * The examples in the order of the specs, by route and name. The reads come first, because they show nothing that a creation adds.
 * Then comes the first example of each change, and then all of them, because a replayed request may use ids.
 */
export function examplesInTurn(routes: readonly Route[]): readonly (readonly [Route, string])[] {
  const named = (route: Route) =>
    Object.keys(examplesOf(route.operation, successOf(route))).map((name) => [route, name] as const);
  const reads = routes.filter(({ method }) => method === 'GET');
  const others = routes.filter(({ method }) => method !== 'GET');
  return [
    ...[...reads.filter((route) => !isOfMade(route)), ...reads.filter(isOfMade)].flatMap(named),
    ...others.flatMap((route) => named(route).slice(0, 1)),
    ...others.flatMap((route) => named(route).slice(isOnce(route) ? 1 : 0)),
  ];
}

/** @throws Error for a parameter without an example */
function valueOf({ name, example, examples }: DocumentedParameter, exampleName?: string): string {
  const choices = Object.entries(examples ?? {});
  const chosen = choices.find(([choice]) => choice === exampleName) ?? choices[0];
  const value = chosen?.[1].value ?? example;
  if (value === undefined) throw new Error(`the parameter ${name} has no example`);
  return String(value);
}
