import { testOrProve } from '@banking/postgres/testing';
import * as fc from 'fast-check';
import { proveDocumented } from '../responses.js';
import { CANARY } from '../log-lines.js';
import { ADA, serviceOfTheRun } from '../service.js';
import { idOf } from '../world.js';
import { sendRawRequest, faultsInError } from './raw-request.js';

const service = serviceOfTheRun();

/** Each request has a connection of its own, so a few hundred of them take some seconds. */
const REQUESTS = testOrProve(100, 400);
const seed = Date.now() & 0x7fffffff;

const ODD_WORDS = [
  '',
  '.',
  '..',
  '%00',
  '%2F',
  '%',
  '%C0%AF',
  '*',
  '__proto__',
  'null',
  '9007199254740992',
  '-0',
  '1e309',
  "'",
  '%F0%9F%92%A3',
  '{{1}}',
  '${1}',
  'a'.repeat(101),
  '\u00e9',
  '%EF%BB%BF',
];
const ODD_VALUES = [
  '',
  ' ',
  '1',
  '0',
  ',',
  '"',
  '\\',
  'Bearer',
  'é',
  '\u{1F4A3}',
  '*/*;q=2',
  'gzip, ;',
  'bytes=0-',
  'W/"',
  `"${CANARY}"`,
  '(){:;};',
  'a'.repeat(2_000),
];
const KNOWN_HEADERS = [
  'Authorization',
  'Workspace-ID',
  'Accept',
  'Accept-Encoding',
  'Accept-Language',
  'Content-Type',
  'If-None-Match',
  'If-Modified-Since',
  'Range',
  'Origin',
  'Cookie',
  'Referer',
  'X-Request-Id',
  'Idempotency-Key',
  'Forwarded',
  'X-Forwarded-For',
  'Upgrade',
  'TE',
  'Trailer',
  'Max-Forwards',
  'Access-Control-Request-Method',
  'Via',
];

const word = fc.oneof(
  fc.constantFrom(...ODD_WORDS),
  fc.nat().map(String),
  fc.string({ unit: 'binary', maxLength: 12 }).filter(isWellFormed).map(encodeURIComponent),
  fc.stringMatching(/^[!$&'()*+,;=:@A-Za-z0-9._~-]{1,16}$/),
);
const path = fc.oneof(
  fc.array(word, { maxLength: 5 }).map((words) => `/${words.join('/')}`),
  fc
    .tuple(
      fc.constantFrom('/transfers/', '/apps/', '/recipients/countries/', '/countries/', '/docs/', '/health/'),
      word,
      fc.constantFrom('', '/users', '/corridors', '/'),
    )
    .map((parts) => parts.join('')),
);
const query = fc.oneof(
  fc.constant(''),
  fc.array(fc.tuple(word, word), { maxLength: 4 }).map((pairs) => `?${pairs.map((pair) => pair.join('=')).join('&')}`),
);
/** The characters of a valid header line. Invalid lines are in framing.spec.ts. */
const value = fc
  .oneof(fc.constantFrom(...ODD_VALUES), fc.string({ maxLength: 40 }), fc.stringMatching(/^[\x20-\x7e]{0,60}$/))
  .map((text) => text.replace(/[\r\n\0]/g, ''));
const header = fc
  .tuple(fc.oneof(fc.constantFrom(...KNOWN_HEADERS), fc.stringMatching(/^X-[A-Za-z0-9-]{1,20}$/)), value)
  .map((pair) => pair.join(': '));
const method = fc.oneof(
  { weight: 6, arbitrary: fc.constant('GET') },
  fc.constantFrom('HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'SEARCH', 'PURGE'),
);

describe(`random requests (seed ${seed})`, () => {
  it(`survives ${REQUESTS} requests without a 5xx and without internal details in a response`, async () => {
    const token = await service.tokenOf(ADA);
    const signedIn = [
      `Authorization: Bearer ${token}`,
      `Workspace-ID: ${idOf(service.world, 'workspaces', 'Northwind Trading')}`,
    ];

    await fc.assert(
      fc.asyncProperty(
        method,
        path,
        query,
        fc.array(header, { maxLength: 5 }),
        fc.boolean(),
        async (verb, at, search, headers, known) => {
          const target = `${at}${search}`.replace(/[^\x21-\x7e]/g, encodeURIComponent);

          const response = await sendRawRequest(service.url, {
            method: verb,
            path: target,
            headers: [...(known ? signedIn : []), ...headers],
          });

          if (response.status === undefined || response.status >= 500)
            throw new Error(`the status is ${response.status}: ${response.body}`);
          if (response.status < 400 || verb === 'HEAD') return;
          expect(faultsInError(response)).toEqual([]);
          await proveDocumented(service, verb, target, response.status);
        },
      ),
      { numRuns: REQUESTS, seed },
    );
    const alive = await fetch(`${service.url}/health/live`);
    expect(alive.status).toBe(200);
  }, 90_000);
});

function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
