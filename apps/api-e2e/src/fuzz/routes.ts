import type { Json } from './step.js';
import { type Document, routesOf, type Route } from '../documented/document.js';

/** The parts of a JSON schema by which values are generated. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly Json[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: Schema;
}

/** An operation with the schemas of its input. */
export interface FuzzedRoute {
  readonly operationId: string;
  readonly route: Route;
  readonly body: Schema | undefined;
  readonly queries: readonly Parameter[];
  /** How often the operation is called, compared to the others. */
  readonly weight: number;
}

/** A moved clock changes every later order of the workspace. */
const RARE = ['moveClock', 'getLiveness', 'getReadiness', 'listApps', 'listProducts', 'listPurposes'];
const FREQUENT = ['placeOrder', 'createQuote', 'addInternationalRecipient', 'cancelOrder', 'resumeOrder'];

export function fuzzedRoutes(document: Document): FuzzedRoute[] {
  const { schemas } = (document as unknown as { components: { schemas: Readonly<Record<string, Schema>> } }).components;
  return routesOf(document).map((route) => {
    const { operationId, parameters, requestBody } = route.operation;
    const content = requestBody?.content['application/json'] as unknown as { schema: Schema } | undefined;
    const name = content?.schema.$ref?.split('/').at(-1);
    const weight = RARE.includes(operationId) ? 1 : FREQUENT.includes(operationId) ? 6 : 3;
    return {
      operationId,
      route,
      body: name === undefined ? undefined : schemas[name],
      queries: (parameters as unknown as readonly Parameter[]).filter((parameter) => parameter.in === 'query'),
      weight,
    };
  });
}
