import * as fc from 'fast-check';
import { CANARY } from '../log-lines.js';

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
export const path = fc.oneof(
  fc.array(word, { maxLength: 5 }).map((words) => `/${words.join('/')}`),
  fc
    .tuple(
      fc.constantFrom('/transfers/', '/apps/', '/recipients/countries/', '/countries/', '/docs/', '/health/'),
      word,
      fc.constantFrom('', '/users', '/corridors', '/'),
    )
    .map((parts) => parts.join('')),
);
export const query = fc.oneof(
  fc.constant(''),
  fc.array(fc.tuple(word, word), { maxLength: 4 }).map((pairs) => `?${pairs.map((pair) => pair.join('=')).join('&')}`),
);
/** The characters of a valid header line. Invalid lines are in framing.spec.ts. */
const value = fc
  .oneof(fc.constantFrom(...ODD_VALUES), fc.string({ maxLength: 40 }), fc.stringMatching(/^[\x20-\x7e]{0,60}$/))
  .map((text) => text.replace(/[\r\n\0]/g, ''));
export const header = fc
  .tuple(fc.oneof(fc.constantFrom(...KNOWN_HEADERS), fc.stringMatching(/^X-[A-Za-z0-9-]{1,20}$/)), value)
  .map((pair) => pair.join(': '));
export const method = fc.oneof(
  { weight: 6, arbitrary: fc.constant('GET') },
  fc.constantFrom('HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'SEARCH', 'PURGE'),
);

function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
