import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it arrived, whole. */
export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** What is done with one request. */
export type Step = (response: ServerResponse, asked: Asked) => void;

/** A real server that answers each request with the next step of its script, and the last step from then on. */
export interface ScriptedService {
  readonly url: string;
  readonly asked: readonly Asked[];
  script(...steps: Step[]): void;
  close(): Promise<void>;
}

export const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' };

export const answers =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Step =>
  (response) =>
    response.writeHead(status, { ...JSON_TYPE, ...headers }).end(JSON.stringify(body));

/** A refusal as the service writes it. */
export const refuses = (status: number, reason: string, headers: Readonly<Record<string, string>> = {}): Step =>
  answers(status, { errorCode: 'any', message: 'No.', reason, requestId: 'r-1' }, headers);

/** The connection dies when the request has arrived: it may have been carried out. */
export const dies: Step = (response) => response.socket?.resetAndDestroy();

export const hangs: Step = () => {};

export async function scriptedService(): Promise<ScriptedService> {
  const asked: Asked[] = [];
  let steps: Step[] = [answers(200, [])];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const whole = { method, url, headers, body: Buffer.concat(parts).toString() };
      asked.push(whole);
      const step = steps.length > 1 ? steps.shift() : steps[0];
      step?.(response, whole);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
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
