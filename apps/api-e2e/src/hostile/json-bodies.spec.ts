import { testOrProve } from '@banking/postgres/testing';
import * as fc from 'fast-check';
import { proveDocumented } from '../responses.js';
import { callOf, type Route, routesOf } from '../documented/document.js';
import { demoDataDir } from '../running-service.js';
import { freshService } from '../documented/fresh-service.js';
import { bugsIn } from '../log-lines.js';
import { ADA } from '../service.js';
import { sendRawRequest, faultsInError } from './raw-request.js';

const BODIES_PER_OPERATION = testOrProve(15, 60);
const seed = Date.now() & 0x7fffffff;

/** Every text and number of a body contains one of these, also after `JSON.parse` has rounded the number. */
const TEXT_MARKER = 'zq8marker';
const NUMBER_MARKER = '3165098';
const PLANTED = new RegExp(`${TEXT_MARKER}|${NUMBER_MARKER}`);

const TEXTS = [
  '',
  '\\ud800',
  '\\udfff x',
  '\\u0000',
  '\\u202e',
  '\\ue000',
  '\\r\\nSet-Cookie: a',
  '\\udb40\\udc41',
  'é',
  '\\u0000'.repeat(50),
  'x'.repeat(5_000),
];
const NUMBERS = [
  '7316509876',
  '-7316509876',
  '73165098.5',
  '73165098765432101234',
  '7.3165098e300',
  '7.3165098e-7',
  '-73165098765432101234567890',
];
const NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'then',
  'length',
  '\\ud800',
  '\\u0000',
  '',
  'edges',
  'id',
  'beneficiaryName',
  'beneficiaryAccountNumber',
  'beneficiaryAccountType',
  'destinationCountry',
];

/** JSON texts of values, with some names that are fields of the operation. */
function jsonWith(known: readonly string[]) {
  const name = fc.oneof(fc.constantFrom(...NAMES), ...(known.length > 0 ? [fc.constantFrom(...known)] : []));
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 10, depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(...TEXTS).map((text) => `"${TEXT_MARKER}${text}"`),
      fc.constantFrom(...TEXTS).map((text) => `"${text}${TEXT_MARKER}"`),
      fc.constantFrom(...NUMBERS),
      fc.constantFrom('true', 'null', '{}', '[]'),
      fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
      objectOf(name, tie('value')),
      fc.nat(500).map((depth) => `${'{"a":['.repeat(depth)}"${TEXT_MARKER}"${']}'.repeat(depth)}`),
    ),
  }));
  return { name, value };
}

const objectOf = (name: fc.Arbitrary<string>, value: fc.Arbitrary<string>) =>
  fc
    .array(fc.tuple(name, value), { maxLength: 4 })
    .map((members) => `{${members.map(([one, text]) => `"${one}":${text}`).join(',')}}`);

/**
 * Bodies of an operation: any JSON, or its example with replaced or added fields. `mismatched` is the example with details that do not
 * match the schema of the corridor, because few random bodies pass the checks before that one.
 */
function bodiesOf(route: Route): { readonly bodies: fc.Arbitrary<string>; readonly mismatched?: string } {
  const example = Object.entries((callOf(route).body ?? {}) as Record<string, unknown>);
  const details = example.flatMap(([, value]) => (typeof value === 'object' ? Object.entries(value ?? {}) : []));
  const { name, value } = jsonWith(example.map(([field]) => field));
  const changed = (
    fields: readonly (readonly [string, unknown])[],
    changes: readonly (readonly [string, string])[],
  ) => {
    const unchanged = fields.filter(([field]) => !changes.some(([other]) => other === field));
    return [...unchanged.map(([field, one]) => [field, JSON.stringify(one)] as const), ...changes];
  };
  const written = (members: readonly (readonly [string, string])[]) =>
    `{${members.map(([one, text]) => `"${one}":${text}`).join(',')}}`;
  const changes = fc.array(fc.tuple(name, value), { minLength: 1, maxLength: 3 });
  const inDetails = fc.array(fc.tuple(fc.constantFrom('beneficiaryName', ...details.map(([field]) => field)), value), {
    minLength: 1,
    maxLength: 2,
  });
  const withDetails = (some: readonly (readonly [string, string])[]) =>
    written(changed(example, [['data', written(changed(details, some))]]));
  const bodies = fc.oneof(
    value,
    changes.map((some) => written(changed(example, some))),
    inDetails.map(withDetails),
  );
  return details.length === 0 ? { bodies } : { bodies, mismatched: withDetails([['beneficiaryName', '{}']]) };
}

it(`survives random JSON bodies at every operation, and repeats no value of them in errors or the log (seed ${seed})`, async () => {
  const service = await freshService({}, demoDataDir);
  const statuses = new Set<number>();
  try {
    const token = await service.tokenOf(ADA);
    const routes = routesOf(service.document).filter(({ operation }) => operation.requestBody);
    expect(routes.length).toBeGreaterThanOrEqual(8);
    for (const route of routes) {
      const { method, path, headers } = callOf(route);
      const own = Object.entries(headers).filter(([name]) => name !== 'Idempotency-Key');
      const send = async (text: string, key: readonly string[]) => {
        const lines = [
          ...own.map((line) => line.join(': ')),
          `Authorization: Bearer ${token}`,
          'Content-Type: application/json',
          `Content-Length: ${Buffer.byteLength(text)}`,
          ...key,
        ];
        const response = await sendRawRequest(service.url, { method, path, headers: lines, body: text });
        if (response.status === undefined || response.status >= 500)
          throw new Error(`${method} ${path} returned ${response.status}: ${response.body}`);
        statuses.add(response.status);
        await proveDocumented(service, method, path, response.status);
        if (response.status < 400) return;
        expect(faultsInError(response)).toEqual([]);
        expect(response.body).not.toMatch(PLANTED);
      };
      const keys = fc.option(fc.uuid(), { nil: undefined });
      const { bodies, mismatched } = bodiesOf(route);
      await fc.assert(
        fc.asyncProperty(bodies, keys, (text, key) => send(text, key === undefined ? [] : [`Idempotency-Key: ${key}`])),
        { numRuns: BODIES_PER_OPERATION, seed, examples: mismatched === undefined ? [] : [[mismatched, undefined]] },
      );
    }
  } finally {
    await service.stop();
  }

  expect([...statuses]).toEqual(expect.arrayContaining([400, 422]));
  expect(bugsIn(service.log)).toEqual([]);
  expect(service.log.split('\n').filter((line) => PLANTED.test(line))).toEqual([]);
}, 240_000);
