import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Cluster } from './cluster.js';
import { call, type Endpoint, send } from './orders.js';
import { type Violation, violationsOf } from './scenario.js';
import { BENEFICIARY, GERMANY, type LoadAccount } from './world.js';

/** In every text that a canary request sends. */
const CANARY = 'canary7Q2x';

/** A request whose texts must not be logged, and that the service accepts or refuses. */
interface CanaryRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly key?: string;
  readonly token?: string;
  readonly body?: unknown;
}

function requestsOf({ id, code }: LoadAccount): readonly CanaryRequest[] {
  const orders = `/accounts/${id}/orders`;
  const data = { ...BENEFICIARY, beneficiaryName: `${CANARY} GmbH`, beneficiaryAddress: `${CANARY} Uferstrasse 4` };
  const unsigned = `eyJhbGciOiJub25lIn0.${Buffer.from(CANARY).toString('base64url')}.${CANARY}`;
  return [
    { method: 'POST', path: GERMANY, body: { data } },
    { method: 'POST', path: GERMANY, body: { data: { ...data, beneficiaryAccountNumber: CANARY } } },
    { method: 'POST', path: '/recipients/internal', body: { accountCode: code, name: CANARY, saved: false } },
    { method: 'POST', path: '/recipients/internal', body: { accountCode: `BA00${CANARY}`, name: CANARY } },
    { method: 'POST', path: orders, key: `${CANARY}-key`, body: { amount: CANARY, description: CANARY } },
    { method: 'POST', path: orders, key: `${CANARY} key`.repeat(40), body: {} },
    { method: 'POST', path: `/accounts/${CANARY}/orders`, key: `${CANARY}-path`, body: { [CANARY]: CANARY } },
    { method: 'POST', path: '/accounts', body: { productID: 999_999, name: CANARY } },
    { method: 'GET', path: `/transfers?description=${CANARY}&cursor=${CANARY}` },
    { method: 'GET', path: `/${CANARY}` },
    { method: 'GET', path: '/accounts', token: CANARY },
    { method: 'GET', path: '/accounts', token: unsigned },
  ];
}

/** Sends each request through both api processes. No response may be an unhandled error, or repeat a key or a token. */
export async function plantCanaries({ token: own, url }: Endpoint, account: LoadAccount): Promise<Violation[]> {
  const faults: string[] = [];
  for (const api of [0, 1]) {
    for (const { method, path, key, token = own, body } of requestsOf(account)) {
      const options = { api, method, path, workspaceId: account.workspaceId, body, key };
      const received = await call({ token, url: (number) => url(number) }, options);
      const isWrong = received.status === undefined || received.status >= 500;
      const repeats = [own, token, key].some((text) => text !== undefined && received.body.includes(text));
      const what = isWrong ? `got ${received.status ?? received.error}` : 'repeated its key or token';
      if (isWrong || repeats) faults.push(`a canary request to ${method} ${path.split('?')[0]} ${what}`);
    }
  }
  // What an operator's monitoring reads.
  for (const path of ['/health/live', '/health/ready']) {
    if ((await send(`${url(0)}${path}`)).body.includes(CANARY)) faults.push(`${path} contains a canary`);
  }
  return violationsOf('secrets', faults);
}

const SHOWN_MAX = 5;
/** The output of a start in a sandbox, which names a user of the demo data. */
const TOKEN_HINT = 'A token: npm run ';

/**
 * Searches the logs of all processes, and of PostgreSQL, for what a log must not hold: tokens, keys and descriptions of the run, account
 * codes and numbers, names, e-mails, and the texts that the canary requests contained.
 */
export async function searchSecrets({ folder, token }: Cluster, prefix: string) {
  const signature = token.split('.')[2] ?? token;
  const secret = new RegExp(
    [
      // A JWT, an account code, an e-mail address, an IBAN.
      ...['eyJ[A-Za-z0-9_-]{10,}', 'BA[0-9]{16}', '[a-z.]+@northwind[.]example', 'DE[0-9]{20}'],
      ...[BENEFICIARY.beneficiaryName, CANARY, signature.replace(/[^A-Za-z0-9]/g, '\\$&')],
      // Keys, which are also the descriptions.
      `\\b${prefix}-[0-9]+`,
    ].join('|'),
  );
  const found: string[] = [];
  let searched = 0;
  for (const parent of [folder, join(folder, 'data'), join(folder, 'primary'), join(folder, 'replacement')]) {
    for (const name of await readdir(parent).catch(() => [])) {
      if (!/[.]log([.]1)?$/.test(name)) continue;
      const lines = createInterface({ input: createReadStream(join(parent, name)), crlfDelay: Infinity });
      for await (const line of lines) {
        searched += 1;
        const [match] = line.startsWith(TOKEN_HINT) ? [] : (secret.exec(line) ?? []);
        if (match === undefined || found.length >= SHOWN_MAX) continue;
        found.push(`${join(parent, name)} contains "${match.slice(0, 30)}" in: ${line.slice(0, 300)}`);
      }
    }
  }
  return { searched, violations: violationsOf('secrets', found) };
}
