import { Refusal, type UserId, type WorkspaceId } from '@banking/domain';
import { RemoteBankingService } from '@banking/client';
import { upstreamFailure } from '../upstream-failure.js';
import { readUserLists } from '../users/read-user-lists.js';
import { visibleUsers } from '../users/visible-users.js';
import { responseValidator } from '../validate-response.js';

const TOKEN = 'token-of-the-gateway';
const SCOPE = { workspaceId: 1 as WorkspaceId };
const AMOUNT = /^(?:0|[1-9][0-9]{0,18})$/;
/** A text of an upstream is cut to this length before a caller gets it. */
const PASSED_MAX = 1_000;
/** Of a text for the log. */
const LOGGED_MAX = 1_000;

/** A response, as an input describes it. A body that is no text is sent as JSON. */
interface Described {
  readonly call: keyof typeof CALLS;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

const CALLS = {
  getTransfer: (client: RemoteBankingService) => client.getTransfer(SCOPE, { transferId: 42 as never }),
  listTransfers: (client: RemoteBankingService) => client.listTransfers(SCOPE),
  listAccounts: (client: RemoteBankingService) => client.listAccounts(SCOPE),
  getRecipient: (client: RemoteBankingService) => client.getRecipient(SCOPE, { recipientId: 42 as never }),
  listRecipientSchemas: (client: RemoteBankingService) =>
    client.listRecipientSchemas({}, { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' }),
  getQuote: (client: RemoteBankingService) => client.getQuote(SCOPE, { quoteId: 42 as never }),
  placeOrder: (client: RemoteBankingService) => client.placeOrder(SCOPE, { accountId: 1 } as never),
  listPurposes: (client: RemoteBankingService) => client.listPurposes(),
  /** The lists that decide what a caller may do. */
  listAppUsers: async (client: RemoteBankingService) => {
    const one = {
      listApps: async () => [{ id: 1, name: 'a' }] as never,
      listAppUsers: client.listAppUsers.bind(client),
    };
    const [{ users = [] } = {}] = await readUserLists(one);
    return visibleUsers(users, 1 as UserId);
  },
} as const;

const inspect = responseValidator();

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

async function check(input: string): Promise<'accepted' | 'refused'> {
  const { call, status, headers, body } = describedBy(input);
  const text = typeof body === 'string' ? body : (JSON.stringify(body) ?? '');
  const header = (name: string) => (headers as Described['headers'] | null)?.[name.toLowerCase()];
  const response = {
    status: Number.isInteger(status) ? status : 200,
    headers: { get: (name: string) => (typeof header(name) === 'string' ? String(header(name)) : null) },
    arrayBuffer: async () => new Uint8Array(Buffer.from(text)).buffer,
  };
  const fetch = async () => response;
  const client = new RemoteBankingService({ baseUrl: 'http://x.example', token: TOKEN, retries: 0, fetch, inspect });
  let value: unknown;
  try {
    value = await CALLS[call](client);
  } catch (error) {
    checkFailure(error, call, response.status);
    return 'refused';
  }
  checkValue(value, call);
  return 'accepted';
}

/** Every failure becomes a response of the interface, bounded and without the credential. */
function checkFailure(error: unknown, call: string, status: number): void {
  const translated = upstreamFailure(error, call);
  if (translated === undefined) throw error;
  const { response, why = '' } = translated;
  const texts = [response.errorCode, response.message, response.reason];
  const details = response.details?.flatMap((detail) => [detail.path, detail.reason, detail.message]) ?? [];
  if ([...texts, ...details].some((text) => typeof text !== 'string' || text.length > PASSED_MAX)) {
    throw new Error('a passed text is no text, or too long');
  }
  if (texts.includes('')) throw new Error('a response has an empty text');
  if (!Number.isInteger(response.status) || response.status < 400 || response.status > 504) {
    throw new Error('a failure has no status of an error');
  }
  const { retryAfterSeconds } = response;
  if (retryAfterSeconds !== undefined && !(Number.isSafeInteger(retryAfterSeconds) && retryAfterSeconds >= 0)) {
    throw new Error('Retry-After is no whole number');
  }
  if (JSON.stringify([texts, details, why]).includes(TOKEN)) throw new Error('a failure has the credential');
  if (why.length > LOGGED_MAX) throw new Error('a text for the log is too long');
  // What an upstream may have executed is never reported as refused.
  if (call === 'placeOrder' && status >= 500 && response.status < 500) throw new Error('an order in doubt is refused');
  if (call === 'placeOrder' && status === 200 && response instanceof Refusal && response.status < 500) {
    throw new Error('an order in doubt is refused');
  }
}

/** What a caller gets can be serialized, and has the amounts and ids that calculations rely on. */
function checkValue(value: unknown, call: string): void {
  const text = JSON.stringify(value);
  if (typeof text !== 'string') throw new Error('a value has no JSON');
  const { id, amount, items } = value as { readonly id?: unknown; readonly amount?: unknown; readonly items?: unknown };
  if (call === 'getTransfer' && (id !== 42 || typeof amount !== 'string' || !AMOUNT.test(amount))) {
    throw new Error('a transfer has no amount, or another id');
  }
  if (call === 'listTransfers') {
    for (const item of items as readonly { readonly amount?: unknown }[]) {
      if (typeof item.amount !== 'string' || !AMOUNT.test(item.amount)) throw new Error('a transfer has no amount');
    }
  }
  if (call === 'listAppUsers') {
    const users = value as readonly { readonly edges: { readonly roles?: unknown } }[];
    if (users.some(({ edges }) => !Array.isArray(edges.roles))) throw new Error('a user has no roles');
  }
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
const example = (call: keyof typeof CALLS, status: number, body: unknown, headers: object = {}) =>
  JSON.stringify({ call, status, headers: { ...JSON_TYPE, ...headers }, body });
const currency = { id: 978, code: 'EUR', name: 'Euro', decimals: 2 };
const account = {
  id: 1,
  name: 'A',
  status: 'active',
  type: 'checking',
  edges: { balances: [], currency, product: { id: 1, name: 'P', edges: { currency } } },
};
const role = { id: 1, role: 'admin', edges: { workspace: { id: 1, name: 'Bank' } } };
const error = { errorCode: 'unprocessable', message: 'No.', reason: 'insufficient_funds', requestId: 'r-1' };

export const target = {
  examples: [
    example('getTransfer', 200, { id: 42, amount: '5', direction: 'debit', edges: { account } }),
    example('listTransfers', 200, [{ id: 1, amount: '5', edges: {} }], { link: '<x?cursor=a>; rel="next"' }),
    example('listAccounts', 200, [account]),
    example('getRecipient', 200, {
      id: 42,
      name: 'R',
      accountCode: 'C',
      edges: { beneficiary: { id: 1, data: {} }, currency },
    }),
    example('listRecipientSchemas', 200, [{ type: 'object', properties: {} }]),
    example('getQuote', 404, { errorCode: 'invalid_request', message: 'No such quote.' }),
    example('placeOrder', 422, { ...error, details: [{ path: '/amount', reason: 'a', message: 'b' }] }),
    example('placeOrder', 422, { ...error, message: 'x'.repeat(1_500) }),
    example('placeOrder', 503, { ...error, reason: 'unavailable' }, { 'retry-after': '3' }),
    example('placeOrder', 201, { id: 7, amount: '5000', status: 'completed' }),
    example('placeOrder', 504, { ...error, reason: 'outcome_unknown' }),
    example('listPurposes', 200, { IR001: 'Transfer to own account' }),
    example('listAppUsers', 200, [
      { id: 1, email: 'ada@bank.example', status: 'completed', edges: { roles: [role] } },
      { id: 2, email: 'bob@bank.example', edges: {} },
    ]),
    example('getTransfer', 502, '<h1>Bad gateway</h1>', { 'content-type': 'text/html' }),
  ],
  tokens: [
    ...Object.keys(CALLS),
    ...[
      'call',
      'status',
      'headers',
      'body',
      'id',
      'amount',
      'edges',
      'roles',
      'workspace',
      'currency',
      'decimals',
      'balances',
    ],
    ...['details', 'reason', 'message', 'errorCode', 'content-type', 'link', 'retry-after', 'text/html', TOKEN],
    ...[
      'outcome_unknown',
      'unavailable',
      'rate_limited',
      'upstream_timeout',
      'request_malformed',
      'member',
      'completed',
    ],
    ...['301', '401', '403', '404', '409', '413', '429', '500', '503', '504'],
  ],
  lengthMax: 32_768,
  check,
};
