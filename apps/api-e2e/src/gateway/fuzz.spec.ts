import { offlineDocument } from '../documented/read-document.js';
import { testOrProve } from '@banking/postgres/testing';
import * as fc from 'fast-check';
import { NOT_THROUGH_GATEWAY } from '../documented/changed-calls.js';
import { callOf, examplesOf, requestOf, type Route, routesOf, successOf } from '../documented/document.js';
import { faultsInError } from '../hostile/raw-request.js';
import { ADA } from '../service.js';
import { AttackedGateway, json, roleIn } from './attacked-gateway.js';
import { withoutEmptyEdges } from './stacked-services.js';

const RESPONSES = testOrProve(150, 600);
const seed = Date.now() & 0x7fffffff;

/** The examples of each operation that calls the upstream for each request and has a response with a body. */
const EXAMPLES = routesOf(offlineDocument())
  .filter(
    ({ operation }) =>
      operation.security.length > 0 &&
      !operation.responses['304'] &&
      !/^listApp/.test(operation.operationId) &&
      !NOT_THROUGH_GATEWAY.includes(operation.operationId),
  )
  .flatMap((route) =>
    Object.entries(examplesOf(route.operation, successOf(route))).map(([name, { value }]) => ({ route, name, value })),
  );

/** Values that replace a value of a response. */
const ODD: readonly unknown[] = [
  null,
  true,
  0,
  -0,
  -1,
  0.5,
  1e21,
  2 ** 53,
  '',
  '0',
  '-1',
  '1e3',
  'a\u0000\ud800',
  '\u202e=1',
  [],
  [[]],
  [null],
  {},
  { id: 1 },
  { length: 1 },
  { toString: 1, toJSON: 1, then: 1 },
];

type Path = readonly (string | number)[];

/** The paths of all values in a value, itself included. */
function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value as object);
  return [path, ...entries.flatMap(([key, inner]) => pathsIn(inner, [...path, key]))];
}

/** A copy with another value, or none, at a path. */
function changed(value: unknown, [key, ...rest]: Path, to: { readonly value?: unknown }): unknown {
  if (key === undefined) return to.value;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Record<string, unknown>;
  if (rest.length > 0 || 'value' in to) copy[key] = changed(copy[key], rest, to);
  else delete copy[key];
  return copy;
}

const change = fc.record({
  at: fc.nat(),
  to: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...ODD).map((value) => ({ value })) },
    fc.constant({}),
    fc.jsonValue({ maxDepth: 2 }).map((value) => ({ value })),
  ),
});

describe(`gateway with mutated upstream responses (seed ${seed})`, () => {
  let attacked: AttackedGateway;
  beforeAll(async () => {
    attacked = await AttackedGateway.start();
    const roles = [1, 2, 3].map((workspace) => roleIn(workspace, 'admin', workspace));
    attacked.upstream.users = [{ id: 1, email: ADA, status: 'completed', edges: { roles } }];
  });
  afterAll(() => attacked?.stop());

  const sendRequest = async (route: Route, name: string, accept: string) => {
    const call = callOf(route, name);
    const request = requestOf(
      { ...call, headers: { ...call.headers, accept } },
      `Bearer ${await attacked.service.tokenOf(ADA)}`,
    );
    const response = await fetch(`${attacked.service.url}${call.path}`, request);
    return { status: response.status, headers: new Map(response.headers), body: await response.text() };
  };

  it(`forwards or rejects each of ${RESPONSES} responses without an unhandled error`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...EXAMPLES),
        fc.array(change, { maxLength: 3 }),
        fc.boolean(),
        async ({ route, name, value }, changes, wantsTable) => {
          const isTable = wantsTable && ['getStatement', 'listAuditEvents'].includes(route.operation.operationId);
          const given = changes.reduce((sofar, { at, to }) => {
            const paths = pathsIn(sofar);
            return changed(sofar, paths[at % paths.length] ?? [], to);
          }, value);
          attacked.upstream.behaviour = json(given, successOf(route));

          const response = await sendRequest(route, name, isTable ? 'text/csv' : 'application/json');

          if (response.status === successOf(route)) {
            if (!isTable) expect(withoutEmptyEdges(response.body)).toBe(withoutEmptyEdges(JSON.stringify(given)));
          } else {
            expect(response).toMatchObject({
              status: 502,
              body: expect.stringContaining('"upstream_error"') as string,
            });
            expect(faultsInError({ ...response, closedAfterMs: 0 })).toEqual([]);
          }
        },
      ),
      { numRuns: RESPONSES, seed },
    );
    expect(attacked.wrongLines()).toEqual([]);
  });
});
