import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '@banking/postgres/testing';

/** A request that a receiver has read. */
interface Received {
  readonly id: string;
  /** The id of the event, or of the delivery of a test, as `id` names it. */
  readonly event: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Responds to a request. */
export type Respond = (response: ServerResponse, received: Received) => void;

/** A receiver of webhooks on a loopback address. */
export async function startReceiver(host = '127.0.0.1') {
  const received: Received[] = [];
  let respond: Respond = (response) => response.writeHead(204).end();
  let connections = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { headers } = request;
      const id = String(headers['webhook-id']);
      const one = { id, event: Number(id.split('_')[2]), headers, body: Buffer.concat(chunks).toString() };
      received.push(one);
      respond(response, one);
    });
  });
  server.on('connection', () => void (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}/hook`,
    received,
    connections: () => connections,
    respondWith: (next: Respond) => void (respond = next),
    /** Resolves when so many requests were read in all. */
    until: (count: number) => until(() => received.length >= count),
    async close(): Promise<void> {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

export const status =
  (code: number, text = ''): Respond =>
  (response) =>
    response.writeHead(code).end(text);
