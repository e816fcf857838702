import type { BenchTarget } from './service.js';

/** A recorded response of the service, without the headers that HTTP sets per response. */
export interface RecordedResponse {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const MADE_ANEW = ['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding'];
const TRIES_MAX = 5;

/** @throws Error when the response is not successful */
export async function recordResponse({ url, headers }: BenchTarget, path: string): Promise<RecordedResponse> {
  let response = await fetch(`${url}${path}`, { headers });
  // On a busy machine the first connection to the database may exceed the connect timeout.
  for (let tries = 1; !response.ok && tries < TRIES_MAX; tries += 1)
    response = await fetch(`${url}${path}`, { headers });
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  const sent = [...response.headers].filter(([name]) => !MADE_ANEW.includes(name));
  return { headers: Object.fromEntries(sent), body: await response.text() };
}

/** A control with other responses would be no control. Each request has an id of its own. @throws Error if they differ */
export async function requireSameResponse(path: string, ours: BenchTarget, control: BenchTarget): Promise<void> {
  const [one, other] = await Promise.all([recordResponse(ours, path), recordResponse(control, path)]);
  const comparable = ({ body, headers }: RecordedResponse) =>
    JSON.stringify([body, { ...headers, 'x-request-id': '' }]);
  if (comparable(one) !== comparable(other)) throw new Error(`the control answers ${path} with other bytes than ours`);
}
