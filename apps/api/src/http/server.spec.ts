import { once } from 'node:events';
import { Agent, type IncomingMessage, request, type RequestOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { AS_ADA, type EntryServer, entryServer } from './testing/entry-server.js';

const JSON_BODY = { 'content-type': 'application/json' };

/** Bodies that no operation takes, with their headers. */
const BODIES: Readonly<Record<string, readonly [headers: Record<string, string>, body: string]>> = {
  'no body': [{}, ''],
  'malformed JSON': [JSON_BODY, '{'],
  'a body of 70 KiB': [JSON_BODY, ' '.repeat(70 * 1024)],
  'another media type': [{ 'content-type': 'text/plain' }, 'hello'],
  'no media type': [{}, '{}'],
  'a packed body': [{ ...JSON_BODY, 'content-encoding': 'gzip' }, '{}'],
};

let server: EntryServer;
afterEach(() => server.close());

async function post(headers: Record<string, string>, body = '') {
  const answer = await fetch(`${server.url}/accounts`, { method: 'POST', headers, ...(body && { body }) });
  return { status: answer.status, reason: ((await answer.json()) as { reason?: string }).reason };
}

/** Sends the head of a request. The test sends the body. */
function open(options: RequestOptions) {
  const sent = request({ port: server.port, host: '127.0.0.1', method: 'POST', path: '/accounts', ...options });
  sent.flushHeaders();
  return sent;
}

async function read(response: IncomingMessage) {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const { reason } = JSON.parse(Buffer.concat(chunks).toString()) as { reason?: string };
  return { status: response.statusCode, reason, connection: response.headers.connection };
}

const responseTo = async (sent: ReturnType<typeof open>) =>
  read(((await once(sent, 'response')) as [IncomingMessage])[0]);

describe('a request that is refused by its head', () => {
  it.each(Object.entries(BODIES))(
    'is not_authenticated with %s and without a credential',
    async (_, [headers, body]) => {
      server = await entryServer();

      expect(await post(headers, body)).toEqual({ status: 401, reason: 'not_authenticated' });
    },
  );

  it.each(Object.entries(BODIES))(
    'is refused with %s for the workspace and for the role first',
    async (_, [headers, body]) => {
      server = await entryServer();

      const of = (id: string) => post({ ...headers, ...AS_ADA, 'workspace-id': id }, body);

      expect(await of('9')).toEqual({ status: 403, reason: 'workspace_forbidden' });
      expect(await of('8')).toEqual({ status: 403, reason: 'role_insufficient' });
      expect(await of('x')).toEqual({ status: 400, reason: 'workspace_id_invalid' });
    },
  );

  it.each(Object.entries(BODIES))('counts with %s against the rate limit', async (_, [headers, body]) => {
    server = await entryServer({ perSecond: 1 });
    const statuses: number[] = [];

    for (let times = 0; times < 3; times += 1) statuses.push((await post({ ...headers, ...AS_ADA }, body)).status);

    expect(statuses.slice(0, 2).every((status) => [200, 201, 400, 413, 415].includes(status))).toBe(true);
    expect(statuses[2]).toBe(429);
  });
});

describe('a request of a connection that was reset before it was accepted', () => {
  it('is no unhandled error, although its peer is unknown', async () => {
    server = await entryServer();
    server.app.getHttpServer().prependOnceListener('connection', (socket: Socket) => {
      Object.defineProperty(socket, 'remoteAddress', { value: undefined });
    });

    expect(await post({ ...JSON_BODY, ...AS_ADA }, '{}')).toEqual({ status: 201 });
  });
});

describe('a request target in the absolute form', () => {
  it.each([
    ['http://evil.example/accounts?limit=1', '/accounts?limit=1'],
    ['HTTPS://user@evil.example:99/accounts', '/accounts'],
    ['http://evil.example', '/'],
    ['http://evil.example?limit=1', '/?limit=1'],
    ['//evil.example/accounts', '//evil.example/accounts'],
  ])('%s is read as %s', async (target, expected) => {
    let url: string | undefined;
    server = await entryServer({
      watch: (made) => void made.addHook('onRequest', async (seen) => void (url = seen.url)),
    });
    const socket = connect(server.port, '127.0.0.1');
    socket.end(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    await text(socket);
    expect(url).toBe(expected);
  });
});

describe('a request with a transfer coding', () => {
  /** The status of the response, and whether the server closed the connection. */
  async function responseOf(coding: string, method = 'POST', path = '/accounts') {
    const socket = connect(server.port, '127.0.0.1');
    const own = Object.entries({ ...JSON_BODY, ...AS_ADA }).map((header) => `${header.join(': ')}\r\n`);
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: a\r\n${own.join('')}Transfer-Encoding: ${coding}\r\n\r\n`);
    socket.write('2\r\n{}\r\n0\r\n\r\n');
    let received = '';
    for await (const part of socket.setEncoding('latin1')) {
      received += part as string;
      if (received.startsWith('HTTP/1.1 201')) break;
    }
    const [head = '', body = ''] = received.split('\r\n\r\n');
    return {
      status: Number(head.split(' ')[1]),
      reason: /"reason":"(\w+)"/.exec(body)?.[1],
      closes: /^connection: close$/im.test(head),
    };
  }

  it.each(['chunked', 'Chunked'])('%s is read', async (coding) => {
    server = await entryServer();

    expect(await responseOf(coding)).toEqual({ status: 201, reason: undefined, closes: false });
  });

  it.each(['gzip, chunked', 'identity, chunked', 'chunked, chunked', 'chunked\r\nTransfer-Encoding: chunked'])(
    '%j is refused, and its connection is closed',
    async (coding) => {
      server = await entryServer();

      expect(await responseOf(coding)).toEqual({ status: 400, reason: 'request_malformed', closes: true });
      expect(await responseOf(coding, 'GET', '/health/live')).toMatchObject({ status: 400, closes: true });
    },
  );
});

describe('a client that waits for 100 Continue', () => {
  const EXPECT = { ...JSON_BODY, expect: '100-continue', 'content-length': '2' };

  it('gets it once the head is accepted', async () => {
    server = await entryServer();
    const sent = open({ headers: { ...EXPECT, ...AS_ADA } });
    await once(sent, 'continue');
    sent.end('{}');

    expect(await responseTo(sent)).toMatchObject({ status: 201 });
  });

  it.each([
    ['without a credential', EXPECT, 401],
    ['with too large a body', { ...EXPECT, ...AS_ADA, 'content-length': '70000' }, 413],
  ])('does not get it %s', async (_, headers, status) => {
    server = await entryServer();
    const sent = open({ headers });
    let continued = false;
    sent.on('continue', () => (continued = true)).on('error', () => undefined);

    expect(await responseTo(sent)).toMatchObject({ status, connection: 'close' });
    expect(continued).toBe(false);
    sent.destroy();
  });
});

describe('a body that is refused before it was sent', () => {
  it('is read if it is short, and the connection carries the next request', async () => {
    server = await entryServer();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const first = open({ agent, headers: { ...JSON_BODY, 'content-length': '2' } });
    const { socket } = first;
    expect(await responseTo(first)).toMatchObject({ status: 401, connection: 'keep-alive' });
    first.end('{}');

    const second = open({ agent, headers: { ...JSON_BODY, ...AS_ADA } });
    second.end('{}');

    expect(await responseTo(second)).toMatchObject({ status: 201 });
    expect(second.socket).toBe(socket ?? first.socket);
    agent.destroy();
  });

  it('does not reset a client that reads the response after it has sent everything', async () => {
    server = await entryServer();
    const [part, parts] = [' '.repeat(65_536), 8];
    const socket = connect(server.port, '127.0.0.1').pause();
    const head = `POST /accounts HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${parts * part.length}\r\n\r\n`;
    const write = promisify((text: string, done: (error?: Error | null) => void) => void socket.write(text, done));
    await write(head);
    // Both ends are in this process, so written bytes arrive a few turns of the event loop later.
    for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);

    for (let sent = 0; sent < parts; sent += 1) await write(part);

    expect((await text(socket)).slice(0, 13)).toBe('HTTP/1.1 401 ');
  });

  it.each([
    ['of chunks', { 'transfer-encoding': 'chunked' }],
    ['larger than is read', { 'content-length': '70000' }],
  ])('closes the connection if it is %s', async (_, length) => {
    server = await entryServer();
    const sent = open({ headers: { ...JSON_BODY, ...length } });
    sent.on('error', () => undefined);

    const answer = await responseTo(sent);

    expect(answer).toMatchObject({ status: 401, connection: 'close' });
    if (!sent.socket?.destroyed) await once(sent.socket!, 'close');
  });
});
