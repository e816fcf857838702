import type { Violation } from './check-orders.js';
import { call, type Endpoint, send } from './call.js';
import type { LoadAccount } from './world.js';

/** In every text that a canary request sends. */
export const CANARY = 'canary7Q2x';

/** A request whose texts must not be logged, and that the service accepts or refuses. */
interface CanaryRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly key?: string;
  readonly token?: string;
  readonly body?: unknown;
}

const beneficiary = {
  beneficiaryName: `${CANARY} GmbH`,
  beneficiaryAddress: `${CANARY} Uferstrasse 4, 13357 Berlin`,
  destinationCountry: 'DE',
  beneficiaryAccountType: 'Corporate',
  beneficiaryCountryCode: 'DE',
  beneficiaryAccountNumber: 'DE89370400440532013000',
  routingCodeType1: 'SWIFT',
  routingCodeValue1: 'DEUTDEFF',
};
const GERMANY = '/recipients/international?countryCode=DE&currencyCode=EUR&payoutMethod=SWIFT';

function requestsOf({ id, code }: LoadAccount): readonly CanaryRequest[] {
  const orders = `/accounts/${id}/orders`;
  return [
    { method: 'POST', path: GERMANY, body: { data: beneficiary } },
    { method: 'POST', path: GERMANY, body: { data: { ...beneficiary, beneficiaryAccountNumber: CANARY } } },
    { method: 'POST', path: '/recipients/internal', body: { accountCode: code, name: CANARY, saved: false } },
    { method: 'POST', path: '/recipients/internal', body: { accountCode: `BA00${CANARY}`, name: CANARY } },
    { method: 'POST', path: orders, key: `${CANARY}-key`, body: { amount: CANARY, description: CANARY } },
    { method: 'POST', path: orders, key: `${CANARY} key`.repeat(40), body: {} },
    { method: 'POST', path: `/accounts/${CANARY}/orders`, key: `${CANARY}-path`, body: { [CANARY]: CANARY } },
    { method: 'POST', path: '/accounts', body: { productID: 999_999, name: CANARY } },
    { method: 'GET', path: `/transfers?description=${CANARY}&cursor=${CANARY}` },
    { method: 'GET', path: `/${CANARY}` },
    { method: 'GET', path: '/accounts', token: CANARY },
    {
      method: 'GET',
      path: '/accounts',
      token: `eyJhbGciOiJub25lIn0.${Buffer.from(CANARY).toString('base64url')}.${CANARY}`,
    },
  ];
}

/** Sends each request through both api processes. No response may be an unhandled error, or repeat a key or a token. */
export async function plantCanaries(endpoint: Endpoint, account: LoadAccount): Promise<Violation[]> {
  const violations: Violation[] = [];
  for (const api of [0, 1]) {
    for (const { method, path, key, token, body } of requestsOf(account)) {
      const of = { token: token ?? endpoint.token, url: (number: number) => endpoint.url(number) };
      const received = await call(of, {
        ...{ api, method, path, workspaceId: account.workspaceId, body },
        ...(key !== undefined && { key }),
      });
      const isWrong = received.status === undefined || received.status >= 500;
      const repeats = [endpoint.token, token, key].some((text) => text !== undefined && received.body.includes(text));
      if (!isWrong && !repeats) continue;
      const what = isWrong ? `got ${received.status ?? received.error}` : 'repeated its key or token';
      violations.push({ check: 'secrets', detail: `a canary request to ${method} ${path.split('?')[0]} ${what}` });
    }
  }
  await health(endpoint, violations);
  return violations;
}

/** What an operator's monitoring reads. */
async function health({ url }: Endpoint, violations: Violation[]): Promise<void> {
  for (const path of ['/health/live', '/health/ready']) {
    const { body } = await send(`${url(0)}${path}`, {
      method: 'GET',
      headers: {},
      signal: AbortSignal.timeout(20_000),
    });
    if (body.includes(CANARY)) violations.push({ check: 'secrets', detail: `${path} contains a canary` });
  }
}
