import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A complete request as received. */
interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Handles one request. */
export type Step = (response: ServerResponse, request: ReceivedRequest) => void;

/** A server that handles each request with the next step of its script, and repeats the last step. */
export interface ScriptedService {
  readonly url: string;
  readonly received: readonly ReceivedRequest[];
  script(...steps: Step[]): void;
  close(): Promise<void>;
}

export const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' };

export const responds =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Step =>
  (response) =>
    response.writeHead(status, { ...JSON_TYPE, ...headers }).end(JSON.stringify(body));

/** Responds with a refusal as the service does. */
export const refuses = (status: number, reason: string, headers: Readonly<Record<string, string>> = {}): Step =>
  responds(status, { errorCode: 'any', message: 'No.', reason, requestId: 'r-1' }, headers);

/** Resets the connection after the request, which may have been executed. */
export const dies: Step = (response) => response.socket?.resetAndDestroy();

export const hangs: Step = () => {};

/** For `doNotFake`: the spec ends the timeouts, so that a busy machine does not. */
export const NOT_TIMEOUTS: ('nextTick' | 'performance' | 'queueMicrotask' | 'setImmediate')[] = [
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
];

export async function scriptedService(): Promise<ScriptedService> {
  const received: ReceivedRequest[] = [];
  let steps: Step[] = [responds(200, [])];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const complete = { method, url, headers, body: Buffer.concat(parts).toString() };
      received.push(complete);
      const step = steps.length > 1 ? steps.shift() : steps[0];
      step?.(response, complete);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    script: (...next) => {
      steps = next;
    },
    close: async () => {
      if (!server.listening) return;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
