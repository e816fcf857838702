import {
  type Document,
  type DocumentedParameter,
  type JsonSchema,
  routesOf,
  type Route,
} from '../documented/document.js';

/** An operation with the schemas of its input. */
export interface FuzzedRoute {
  readonly operationId: string;
  readonly route: Route;
  readonly body: JsonSchema | undefined;
  readonly queries: readonly DocumentedParameter[];
  /** How often the operation is called, compared to the others. */
  readonly weight: number;
}

/** A moved clock changes every later order of the workspace. */
const RARE = ['moveClock', 'getLiveness', 'getReadiness', 'listApps', 'listProducts', 'listPurposes'];
const FREQUENT = ['placeOrder', 'createQuote', 'addInternationalRecipient', 'cancelOrder', 'resumeOrder'];

export function fuzzedRoutes(document: Document): FuzzedRoute[] {
  const { schemas } = document.components;
  return routesOf(document).map((route) => {
    const { operationId, parameters, requestBody } = route.operation;
    const content = requestBody?.content['application/json'];
    const name = content?.schema.$ref?.split('/').at(-1);
    const weight = RARE.includes(operationId) ? 1 : FREQUENT.includes(operationId) ? 6 : 3;
    return {
      operationId,
      route,
      body: name === undefined ? undefined : schemas[name],
      queries: parameters.filter((parameter) => parameter.in === 'query'),
      weight,
    };
  });
}
