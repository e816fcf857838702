import { gzipSync } from 'node:zlib';
import { CANARY } from '../log-lines.js';
import { body, json, reset, type Behaviour, wire } from './hostile-upstream.js';

/** An invalid response to `GET /transfers/1`, the response of the gateway, and its log line, which never contains a value. */
export interface HostileResponse {
  readonly what: string;
  readonly behaviour: Behaviour;
  readonly status: 502 | 503 | 504;
  /** A pattern of the log line. */
  readonly why: RegExp;
}

const JSON_TYPE = { 'content-type': 'application/json' };
/** A transfer with the required fields and more. */
const transfer = (more: object = {}) => ({ id: 1, amount: '1', edges: {}, ...more });
/** A transfer as text, with a number that JavaScript would write differently. */
const withBalance = (amount: string) =>
  `{"id":1,"amount":"1","description":"${CANARY}","edges":{"balance":{"id":1,"amount":${amount}}}}`;
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const drip: Behaviour = wire(`${HEAD}Content-Length: 100\r\n\r\n`, (socket) => {
  const timer = setInterval(() => socket.writable && socket.write(' '), 100);
  socket.once('close', () => clearInterval(timer));
});
const flood: Behaviour = wire('', (socket) => {
  const more = (): void => {
    while (!socket.destroyed)
      if (!socket.write('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n')) return void socket.once('drain', more);
  };
  more();
});
/** A body without an end, sent as fast as it is read. */
const endless: Behaviour = wire(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`, (socket) => {
  const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`;
  const more = (): void => {
    while (!socket.destroyed) if (!socket.write(chunk)) return void socket.once('drain', more);
  };
  more();
});

const broken = (what: string, behaviour: Behaviour): HostileResponse => ({
  what,
  behaviour,
  status: 502,
  why: /had no complete response/,
});
const late = (what: string, behaviour: Behaviour): HostileResponse => ({
  what,
  behaviour,
  status: 504,
  why: /within \d+ ms/,
});
const distrusted = (what: string, behaviour: Behaviour, why: RegExp): HostileResponse => ({
  what,
  behaviour,
  status: 502,
  why,
});
const wrong = (what: string, value: unknown, why: RegExp) => distrusted(what, json(value), why);

/** Responses that are incomplete or no HTTP. */
export const BROKEN_RESPONSES: readonly HostileResponse[] = [
  late('hangs', () => undefined),
  late('sends single bytes slowly', drip),
  late(
    'sends its headers and no body',
    wire(`${HEAD}Content-Length: 2\r\n\r\n`, () => undefined),
  ),
  late('sends 103 without an end', flood),
  broken('breaks the connection before a response', wire('', reset)),
  broken('closes the connection before a response', wire('')),
  broken('breaks the connection in its headers', wire(HEAD, reset)),
  broken('breaks the connection in its body', wire(`${HEAD}Content-Length: 100\r\n\r\n{"id":1`, reset)),
  broken('closes the connection within the body', wire(`${HEAD}Content-Length: 100\r\n\r\n{"id":1`)),
  broken('breaks off its chunks', wire(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n{"id"\r\n`)),
  broken('sends a chunk without a size', wire(`${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`)),
  broken('sends two lengths', wire(`${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`)),
  broken('sends a length and chunks', wire(`${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`)),
  broken('uses another protocol', wire('SSH-2.0-OpenSSH_9.6\r\n')),
  broken('sends an invalid status', wire('HTTP/1.1 20 OK\r\n\r\n')),
  broken('sends headers of a mebibyte', wire(`${HEAD}X-Long: ${'a'.repeat(1024 * 1024)}\r\n\r\n`)),
  broken(
    'splits its response',
    wire(`HTTP/1.1 200 OK\r\nX-A: b\rSet-Cookie: ${CANARY}=1\r\nContent-Length: 0\r\n\r\n`),
  ),
];

/** Responses that the gateway stops reading, because of their length or their duration. */
export const TOO_LONG: readonly (readonly [what: string, behaviour: Behaviour])[] = [
  ['64 MiB long', body(' '.repeat(64 * 1024 * 1024), JSON_TYPE)],
  ['without an end', endless],
];

/** Valid HTTP responses that the interface does not have. */
export const FOREIGN_RESPONSES: readonly HostileResponse[] = [
  distrusted('sends HTML', body(`<html>${CANARY}</html>`, { 'content-type': 'text/html' }), /Content-Type is not JSON/),
  distrusted('sends nothing', body('', JSON_TYPE), /not valid JSON/),
  distrusted('says 204', (response) => response.writeHead(204).end(), /204/),
  distrusted('says 202', json(transfer(), 202), /202/),
  distrusted('says 206', json(transfer(), 206), /206/),
  distrusted(
    'calls it a text',
    body(JSON.stringify(transfer()), { 'content-type': 'text/plain' }),
    /Content-Type is not JSON/,
  ),
  distrusted('sends no Content-Type', body(JSON.stringify(transfer()), {}), /Content-Type is not JSON/),
  distrusted(
    'sends an unrequested compressed body',
    body(gzipSync(JSON.stringify(transfer())), { ...JSON_TYPE, 'content-encoding': 'gzip' }),
    /not UTF-8/,
  ),
  distrusted('sends bytes that are no UTF-8', body(Buffer.from([0x22, 0xff, 0xfe, 0x22]), JSON_TYPE), /not UTF-8/),
  distrusted('sends half an object', body(`{"id":1,"description":"${CANARY}`, JSON_TYPE), /not valid JSON/),
  distrusted('sends an object twice', body('{"id":1}{"id":1}', JSON_TYPE), /not valid JSON/),
  distrusted(
    'says a length that is too short',
    wire(`${HEAD}Content-Length: 2\r\n\r\n{"id":1,"amount":"1","edges":{}}`),
    /not valid JSON/,
  ),
  distrusted(
    'nests 100,000 deep',
    body(`{"id":1,"amount":"1","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, JSON_TYPE),
    /JSON|deep|stack/,
  ),
  wrong('sends a list', [transfer()], /not a JSON object/),
  wrong('sends a text', CANARY, /not a JSON object/),
  wrong('sends null', null, /not a JSON object/),
  wrong('sends another transfer', transfer({ id: 2, description: CANARY }), /another id/),
  wrong('writes the id as a text', transfer({ id: '1' }), /another id/),
  wrong('leaves out the id', { amount: '1' }, /another id/),
  distrusted('names a next id', body(`{"id":1.0000000000000000001e0,"amount":1}`, JSON_TYPE), /amount/),
];

/** Records with a wrong field. The log names the field. */
export const WRONG_FIELDS: readonly HostileResponse[] = [
  distrusted('counts a balance beyond 2^53', body(withBalance('9007199254740993'), JSON_TYPE), /2\^53/),
  distrusted('counts a balance as 1e400', body(withBalance('1e400'), JSON_TYPE), /2\^53/),
  distrusted(
    'writes a balance as a text',
    body(withBalance('"12"'), JSON_TYPE),
    /\/edges\/balance\/amount must be integer/,
  ),
  distrusted('halves a balance', body(withBalance('1.5'), JSON_TYPE), /\/edges\/balance\/amount must be integer/),
  distrusted('leaves a balance null', body(withBalance('null'), JSON_TYPE), /\/edges\/balance\/amount must be integer/),
  wrong(
    'leaves a balance out',
    transfer({ edges: { balance: { id: 1 } } }),
    /\/edges\/balance must have required property 'amount'/,
  ),
  wrong('writes an amount as a number', transfer({ amount: 12 }), /\/amount must be string/),
  wrong('writes an amount with cents', transfer({ amount: '12.50' }), /\/amount must match/),
  wrong('writes an amount with a zero before it', transfer({ amount: '01' }), /\/amount must match/),
  wrong('writes an amount below zero', transfer({ amount: '-1' }), /\/amount must match/),
  wrong('leaves an amount empty', transfer({ amount: '' }), /\/amount must match/),
  wrong('writes an amount of twenty digits', transfer({ amount: '1'.repeat(20) }), /\/amount must match/),
  wrong('leaves an amount null', transfer({ amount: null }), /\/amount must be string/),
  wrong('leaves an amount out', { id: 1, edges: {} }, /must have required property 'amount'/),
  wrong('writes a fee as a number', transfer({ feeAmount: 1 }), /\/feeAmount must be string/),
  wrong(
    'writes a description as an object',
    transfer({ description: { [CANARY]: 1 } }),
    /\/description must be string/,
  ),
  wrong('writes edges as a list', transfer({ edges: [] }), /\/edges must be object/),
  wrong(
    'writes a list as an object',
    transfer({ edges: { transaction: { id: 1, status: 'x', edges: { transfers: {} } } } }),
    /\/edges\/transaction\/edges\/transfers must be array/,
  ),
  wrong(
    'leaves a state null',
    transfer({ edges: { transaction: { id: 1, status: null } } }),
    /\/edges\/transaction\/status must be string/,
  ),
  wrong(
    'writes the id of a record below as a text',
    transfer({ edges: { recipient: { id: '3', name: 'x', accountCode: 'y' } } }),
    /\/edges\/recipient\/id must be integer/,
  ),
  wrong(
    'hides a member of all objects',
    JSON.parse('{"id":1,"__proto__":{"amount":"1"}}'),
    /must have required property 'amount'/,
  ),
];
