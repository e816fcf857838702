import { callOf, routesOf } from '../documented/document.js';
import { fetchDocument } from '../documented/read-document.js';
import { ADA, serviceOfTheRun } from '../service.js';
import { sendRawRequest, faultsInError, type RawResponse, requestBytes, sendRaw } from './raw-request.js';

const service = serviceOfTheRun();
const { host } = new URL(service.url);

/** A body and its headers. */
interface SentBody {
  readonly headers: readonly string[];
  readonly body?: string;
}

const JSON_TYPE = 'Content-Type: application/json';

const BODIES: Readonly<Record<string, SentBody>> = {
  'no body': { headers: [] },
  'malformed JSON': { headers: [JSON_TYPE, 'Content-Length: 1'], body: '{' },
  'a body of 70 KiB': { headers: [JSON_TYPE, 'Content-Length: 71680'], body: ' '.repeat(71_680) },
  'another media type': { headers: ['Content-Type: text/plain', 'Content-Length: 5'], body: 'hello' },
  'no media type': { headers: ['Content-Length: 2'], body: '{}' },
  'a packed body': { headers: [JSON_TYPE, 'Content-Encoding: gzip', 'Content-Length: 2'], body: '{}' },
  'two media types': { headers: [JSON_TYPE, JSON_TYPE, 'Content-Length: 2'], body: '{}' },
  'an invalid idempotency key': { headers: [JSON_TYPE, 'Idempotency-Key: a b', 'Content-Length: 2'], body: '{}' },
  'a body that does not arrive': { headers: [JSON_TYPE, 'Content-Length: 100'], body: '{' },
  'chunks that do not end': { headers: [JSON_TYPE, 'Transfer-Encoding: chunked'], body: '1\r\n{\r\n' },
  'a body after 100 Continue': { headers: [JSON_TYPE, 'Expect: 100-continue', 'Content-Length: 2'] },
};

describe('operations that require a credential, without one', () => {
  let routes: ReturnType<typeof routesOf>;

  beforeAll(async () => {
    const document = await fetchDocument(service);
    routes = routesOf(document).filter(({ operation }) => operation.security.length > 0);
    expect(routes.length).toBeGreaterThan(25);
  });

  it.each(Object.entries(BODIES))('respond to %s with 401', async (_, { headers, body = '' }) => {
    for (const route of routes) {
      const { method, path } = callOf(route);

      const response = await sendRawRequest(service.url, { method, path, headers, body });

      expect([method, path, response.status, response.headers.get('www-authenticate')]).toEqual([
        method,
        path,
        401,
        'Bearer',
      ]);
      expect(faultsInError(response)).toEqual([]);
    }
  });

  it('close the connection of a body without an end', async () => {
    const { method, path } = callOf(routes.find((route) => route.operation.requestBody)!);
    const lines = [`Host: ${host}`, JSON_TYPE, 'Transfer-Encoding: chunked'];

    const response = await sendWithoutEnd(requestBytes({ method, path, headers: lines }));

    expect(response.status).toBe(401);
  });
});

describe('operations that read a body', () => {
  it('refuse a body without an end once it is too large, and close its connection', async () => {
    const token = await service.tokenOf(ADA);
    const document = await fetchDocument(service);
    const route = routesOf(document).find(({ operation }) => operation.operationId === 'placeOrder')!;
    const { method, path, headers } = callOf(route);
    const own = Object.entries({ ...headers, Authorization: `Bearer ${token}` }).map((line) => line.join(': '));
    const lines = [`Host: ${host}`, ...own, JSON_TYPE, 'Transfer-Encoding: chunked'];

    const response = await sendWithoutEnd(requestBytes({ method, path, headers: lines }));

    expect(response.status).toBe(413);
    expect(faultsInError(response)).toEqual([]);
  });
});

/** Sends chunks after a head. Resolves once the service has closed the connection. */
function sendWithoutEnd(head: string): Promise<RawResponse> {
  const chunk = `400\r\n${' '.repeat(1_024)}\r\n`;
  return sendRaw(service.url, head, (socket) => {
    const more = (): void => {
      while (!socket.destroyed && socket.writable) if (!socket.write(chunk)) return void socket.once('drain', more);
    };
    more();
  });
}
