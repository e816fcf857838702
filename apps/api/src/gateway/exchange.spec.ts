import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'undici';
import { exchange } from './exchange.js';

let agent: Agent;
let server: Server;
let respond: RequestListener;

beforeAll(async () => {
  server = createServer((request, response) => respond(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => server.close());
beforeEach(() => (agent = new Agent({ connections: 1, maxResponseSize: 1_000 })));
afterEach(() => agent.destroy());

function send(signal = new AbortController().signal, path = '/a?b=c', body?: string) {
  const url = new URL(path, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return exchange(agent, url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'x-sent': 'yes' },
    body,
    signal,
  });
}

const textOf = ({ bytes }: { readonly bytes: ArrayBuffer }) => Buffer.from(bytes).toString();

describe('an exchange', () => {
  it('sends the request and returns the whole response', async () => {
    respond = (request, response) => {
      response.writeHead(201, { 'x-one': '1', 'set-cookie': ['a', 'b'] });
      response.write(`${request.method} ${request.url} ${String(request.headers['x-sent'])} `);
      request.once('data', (chunk: Buffer) => response.end(`${chunk.toString()} é`));
    };

    const response = await send(undefined, undefined, 'body');

    expect(textOf(response)).toBe('POST /a?b=c yes body é');
    expect(response).toMatchObject({ status: 201, headers: { 'x-one': '1', 'set-cookie': ['a', 'b'] } });
  });

  it('ignores an informational response', async () => {
    respond = (_request, response) => response.writeEarlyHints({ link: '</a>' }, () => response.end('done'));

    const response = await send();

    expect([response.status, response.headers['link'], textOf(response)]).toEqual([200, undefined, 'done']);
  });

  it('returns an empty body', async () => {
    respond = (_request, response) => response.writeHead(204).end();

    expect(await send()).toMatchObject({ status: 204, bytes: new ArrayBuffer(0) });
  });

  it('fails if the connection ends within the body', async () => {
    respond = (_request, response) => {
      response.writeHead(200, { 'content-length': 10 }).write('half', () => response.destroy());
    };

    await expect(send()).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' });
  });

  it('fails if the response is too large', async () => {
    respond = (_request, response) => response.end('a'.repeat(1_001));

    await expect(send()).rejects.toMatchObject({ code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE' });
  });

  it('fails with the reason of its signal before it is sent', async () => {
    respond = jest.fn();

    await expect(send(AbortSignal.abort('left'))).rejects.toBe('left');
    expect(respond).not.toHaveBeenCalled();
  });

  it('fails with the reason of its signal during the response, and closes the connection', async () => {
    const controller = new AbortController();
    const closed = new Promise<void>((resolve) => {
      respond = (_request, response) => {
        response.once('close', resolve);
        response.write('half', () => controller.abort(new Error('left')));
      };
    });

    await expect(send(controller.signal)).rejects.toThrow('left');
    await closed;
  });

  it('is not sent if it is aborted while it waits for a connection', async () => {
    const controller = new AbortController();
    const requested: (string | undefined)[] = [];
    let finish: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      respond = (request, response) => {
        requested.push(request.url);
        finish = () => response.end('first');
        resolve();
      };
    });
    const first = send();
    await begun;
    const second = send(controller.signal, '/second');
    controller.abort(new Error('left'));
    finish();

    expect(textOf(await first)).toBe('first');
    await expect(second).rejects.toThrow('left');
    expect(requested).toEqual(['/a?b=c']);
  });
});
