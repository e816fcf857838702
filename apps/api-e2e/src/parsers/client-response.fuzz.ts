import {
  RemoteBankingService,
  ConnectionError,
  OutcomeUnknownError,
  RemoteRefusal,
  ServiceError,
} from '@banking/client';
import type { AccountId, OrderId, TransferId, WorkspaceId } from '@banking/domain';
import type { ParserTarget, Verdict } from './parser-target.js';

const TOKEN = 'token-of-the-client';
const SCOPE = { workspaceId: 1 as WorkspaceId };

/** A response, as an input describes it. A body that is no text is sent as JSON. */
interface Described {
  readonly call: keyof typeof CALLS;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  /** Whether the characters of a text are its bytes. */
  readonly isBytes?: unknown;
}

/** A call of each kind of response: record, page, paged record, list, moved list, creation, change, no body. */
const CALLS = {
  getTransfer: (client: RemoteBankingService) => client.getTransfer(SCOPE, { transferId: 42 as TransferId }),
  listTransfers: (client: RemoteBankingService) => client.listTransfers(SCOPE),
  getOrder: (client: RemoteBankingService) =>
    client.getOrderPage(SCOPE, { accountId: 1 as AccountId, orderId: 42 as OrderId }),
  listApps: (client: RemoteBankingService) => client.listApps(),
  listCorridors: (client: RemoteBankingService) => client.listCorridors({}, { country: 'IN' }),
  openAccount: (client: RemoteBankingService) => client.openAccount(SCOPE, { productID: 1 } as never),
  changeAccount: (client: RemoteBankingService) =>
    client.changeAccount(SCOPE, { accountId: 42 as AccountId, alias: 'a' }),
  deleteRecipient: (client: RemoteBankingService) => client.deleteRecipient(SCOPE, { recipientId: 42 as never }),
} as const;

const RECORDS = ['getTransfer', 'getOrder', 'openAccount', 'changeAccount'];

function describedBy(input: string): Described {
  const usual = { call: 'getTransfer', status: 200, headers: { 'content-type': 'application/json' } } as const;
  try {
    const value = JSON.parse(input) as Partial<Described> | null;
    const { call } = value ?? {};
    if (typeof call !== 'string' || !Object.hasOwn(CALLS, call)) throw new TypeError('this is no description');
    return { ...usual, body: undefined, ...value };
  } catch {
    return { ...usual, body: input };
  }
}

function bytesOf({ body, isBytes }: Described): ArrayBuffer {
  const text = typeof body === 'string' ? body : (JSON.stringify(body) ?? '');
  return new Uint8Array(Buffer.from(text, isBytes === true ? 'latin1' : 'utf8')).buffer;
}

async function check(input: string): Promise<Verdict> {
  const described = describedBy(input);
  const headers = described.headers ?? {};
  const response = {
    status: Number.isInteger(described.status) ? described.status : 200,
    headers: {
      get: (name: string) =>
        typeof headers[name.toLowerCase()] === 'string' ? String(headers[name.toLowerCase()]) : null,
    },
    arrayBuffer: async () => bytesOf(described),
  };
  const client = new RemoteBankingService({
    baseUrl: 'http://x.example',
    token: TOKEN,
    retries: 0,
    fetch: async () => response,
  });
  let value: unknown;
  try {
    value = await CALLS[described.call](client);
  } catch (error) {
    checkError(error, described);
    return 'refused';
  }
  checkValue(value, described);
  return 'accepted';
}

/** Only the errors that the client documents, without the token. */
function checkError(error: unknown, { body, headers }: Described): void {
  const isTyped =
    error instanceof RemoteRefusal || error instanceof ServiceError || error instanceof OutcomeUnknownError;
  if (!isTyped || error instanceof ConnectionError) throw error;
  if (error instanceof OutcomeUnknownError && !(error.cause instanceof Error))
    throw new Error('an outcome has no cause');
  if (error.message.includes(TOKEN) || JSON.stringify(error).includes(TOKEN)) throw new Error('an error has the token');
  if (error instanceof ServiceError && JSON.stringify(error.body)?.includes(TOKEN)) {
    throw new Error(`the body of an error has the token: ${typeof body} ${Object.keys(headers ?? {}).length}`);
  }
}

/** A success has the form of its call, and no number that lost a digit. */
function checkValue(value: unknown, { call }: Described): void {
  if (call === 'deleteRecipient') {
    if (value !== undefined) throw new Error('a deletion returned a value');
    return;
  }
  JSON.parse(JSON.stringify(value), (_, inner: unknown) => {
    if (typeof inner === 'number' && Math.abs(inner) > Number.MAX_SAFE_INTEGER)
      throw new Error('a wide integer passed');
    return inner;
  });
  const { resource, items, next } = value as {
    readonly resource?: unknown;
    readonly items?: unknown;
    readonly next?: unknown;
  };
  const record = call === 'openAccount' ? resource : value;
  if (RECORDS.includes(call) && (typeof record !== 'object' || record === null || Array.isArray(record))) {
    throw new Error('a record is no object');
  }
  if (call === 'listTransfers' && !Array.isArray(items)) throw new Error('a page has no items');
  if (/^list(Apps|Corridors)$/.test(call) && !Array.isArray(value)) throw new Error('a list is no array');
  if (next !== undefined && (call === 'listTransfers' || call === 'getOrder') && typeof next !== 'string') {
    throw new Error('a cursor is no text');
  }
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
const example = (call: string, status: number, body: unknown, headers: object = {}) =>
  JSON.stringify({ call, status, headers: { ...JSON_TYPE, ...headers }, body });
const error = { errorCode: 'invalid_request', message: 'No.', reason: 'transfer_not_found', requestId: 'r-1' };

export const target: ParserTarget = {
  examples: [
    example('getTransfer', 200, { id: 42, amount: '5', edges: { account: { id: 1 } } }),
    example('listTransfers', 200, [{ id: 1 }], { link: '</transfers?cursor=a&limit=1>; rel="next"' }),
    example('getOrder', 200, { id: 42, next: 'a', edges: {} }, { link: '<x?cursor=b>; rel=next, <y>; rel="prev"' }),
    example('listApps', 200, [{ id: 1, name: 'a' }]),
    example('listCorridors', 404, { ...error, reason: 'country_unknown' }),
    example('openAccount', 201, { id: 1 }, { 'idempotent-replayed': 'true' }),
    example('openAccount', 503, { ...error, reason: 'unavailable' }, { 'retry-after': '3' }),
    example('changeAccount', 200, { id: 42 }),
    example('deleteRecipient', 204, ''),
    example('getTransfer', 404, { ...error, details: [{ path: '/id', reason: 'a', message: 'b' }] }),
    example('getTransfer', 429, 'slow', { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT', 'x-request-id': 'r-2' }),
    JSON.stringify({ call: 'getTransfer', status: 200, headers: JSON_TYPE, body: '\u00ff{"id":42}', isBytes: true }),
  ],
  tokens: [
    ...Object.keys(CALLS),
    ...[
      'call',
      'status',
      'headers',
      'body',
      'isBytes',
      'id',
      'edges',
      'next',
      'details',
      'reason',
      'message',
      'errorCode',
    ],
    ...[
      'content-type',
      'link',
      'retry-after',
      'x-request-id',
      'idempotent-replayed',
      'application/problem+json',
      'text/html',
    ],
    ...['<?cursor=%ff>;rel=next', '; rel="next last"', 'outcome_unknown', 'unavailable', 'rate_limited', TOKEN],
    ...['204', '301', '401', '404', '429', '500', '503', '9007199254740993'],
  ],
  lengthMax: 32_768,
  check,
};
