import { gatewayOf } from './gateway-of.js';
import { scriptedUpstream, type Script } from './scripted-upstream.js';

export const ORDER = { method: 'POST', body: JSON.stringify({ amount: '5000', recipientID: 1, type: 'instant' }) };
export const PLACE = 'POST /accounts/1/orders';
export const READ = 'GET /transfers/42';

export const MESSAGES = {
  upstream_error: 'The upstream service failed or returned an invalid response.',
  upstream_timeout: 'The upstream service did not respond in time.',
  unavailable: 'The service is temporarily unavailable. The request was not executed.',
};

export const refused = (status: number, reason: string, more = {}) => ({
  status,
  body: { errorCode: 'unprocessable', message: 'No.', reason, requestId: 'theirs', ...more },
});

/** A gateway in front of a scripted upstream. One serves all tests of a spec: Nest has one logger in a process. */
export async function scriptedGateway(environment: Readonly<Record<string, string>> = {}) {
  const upstream = await scriptedUpstream();
  const gateway = await gatewayOf(upstream.url, environment);

  /** Returns the response to a caller for a response of the upstream. */
  async function responseTo(call: string, script: Script, init: RequestInit = {}, by = gateway) {
    upstream.says(call, script);
    const response = await by.send(call, { ...init, headers: { 'x-request-id': 'ours', ...init.headers } });
    const body = (await response.json()) as Record<string, unknown>;
    return { response, status: response.status, body, retryAfter: response.headers.get('retry-after') };
  }

  return {
    upstream,
    gateway,
    responseTo,
    /** Returns the response of a new gateway with the default timeout. */
    async responseOfNewGateway(call: string, script: Script, init?: RequestInit) {
      const other = await gatewayOf(upstream.url);
      return responseTo(call, script, init, other).finally(() => other.close());
    },
    lastLine: () => gateway.lines.at(-1),
    /** Ends with a success, which resets the count of consecutive failures. */
    async reset(): Promise<void> {
      upstream.reset();
      const { status } = await responseTo('GET /accounts', { status: 200, body: [] });
      if (status !== 200) throw new Error(`the gateway responds ${status}`);
      upstream.received.length = 0;
      gateway.lines.length = 0;
    },
    async close(): Promise<void> {
      await gateway.close();
      await upstream.close();
    },
  };
}
