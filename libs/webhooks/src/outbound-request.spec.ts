import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import https from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { networksOf } from './address-policy.js';
import {
  Outbound,
  type OutboundOptions,
  RequestAbortedError,
  nameResolver,
  type ResolveName,
} from './outbound-request.js';
import { startReceiver, status } from './testing/receiver.js';

const none = networksOf([]);
const LIVE: OutboundOptions = { allowsLoopback: false, allowedNetworks: none, refusedNetworks: none };
const SANDBOX: OutboundOptions = { ...LIVE, allowsLoopback: true };

let receiver: Awaited<ReturnType<typeof startReceiver>>;
const opened: { close(): unknown }[] = [];
beforeEach(async () => void (receiver = await startReceiver()));
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  await receiver.close();
});

const outbound = (options: Partial<OutboundOptions> = {}) => {
  const made = new Outbound({ ...SANDBOX, ...options });
  opened.push(made);
  return made;
};
const post = (one: Outbound, url = receiver.url, signal = new AbortController().signal, isOnce = false) =>
  one.post({ url, headers: { 'webhook-id': 'evt_1_1' }, body: '{"a":"€"}', signal, isOnce });
/** Idle connections to one origin. */
const IDLE = 5;

/** A server that does something with each connection. */
async function tcp(onSocket: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push({
    close: () => {
      sockets.forEach((socket) => socket.destroy());
      return new Promise((resolve) => server.close(resolve));
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Resolves names to these addresses, one list after another. */
const resolving = (...answers: string[][]) => {
  let calls = 0;
  const resolve: ResolveName = () => {
    const answer = answers[Math.min(calls, answers.length - 1)] ?? [];
    calls += 1;
    return Promise.resolve(answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
  };
  return { resolve, calls: () => calls };
};

/** A name server whose answer for every name is an IPv4 address, or that stays silent. */
async function nameServer(address: string | undefined, onQuestion: () => void = () => undefined): Promise<string> {
  const socket = createSocket('udp4', (question, { port }) => {
    onQuestion();
    if (address === undefined) return;
    const isIpv4 = question.readUInt16BE(question.indexOf(0, 12) + 1) === 1;
    const end = question.indexOf(0, 12) + 5;
    const head = Buffer.from(question.subarray(0, 12));
    head.set([0x81, 0x80, 0, 1, 0, isIpv4 ? 1 : 0, 0, 0, 0, 0], 2);
    const answer = [0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)];
    socket.send(
      Buffer.concat([head, question.subarray(12, end), Buffer.from(isIpv4 ? answer : [])]),
      port,
      '127.0.0.1',
    );
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  opened.push({ close: () => new Promise<void>((resolve) => socket.close(resolve)) });
  return `127.0.0.1:${socket.address().port}`;
}

describe('a request to an endpoint', () => {
  it('has the body and the headers, over a connection that stays open', async () => {
    receiver.respondWith(status(200, 'thanks'));
    const one = outbound();
    for (let count = 0; count < 3; count += 1) {
      expect(await post(one)).toEqual({
        durationMs: expect.any(Number) as number,
        responseStatus: 200,
        response: 'thanks',
      });
    }
    expect(receiver.received[0]).toMatchObject({
      body: '{"a":"€"}',
      headers: { 'webhook-id': 'evt_1_1', 'content-length': '11' },
    });
    expect(receiver.connections()).toBe(1);
  });

  it('follows no redirect', async () => {
    receiver.respondWith((response) => response.writeHead(307, { Location: `${receiver.url}/next` }).end());
    expect(await post(outbound())).toMatchObject({ responseStatus: 307 });
    expect(receiver.received).toHaveLength(1);
  });

  it('uses no proxy of the environment', async () => {
    const proxy = await startReceiver();
    const names = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'NODE_USE_ENV_PROXY'];
    const former = names.map((name) => process.env[name]);
    names.forEach(
      (name) => (process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://127.0.0.1:${proxy.port}`),
    );
    await post(outbound());
    names.forEach((name, index) => {
      const value = former[index];
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    });
    expect([receiver.received.length, proxy.received.length]).toEqual([1, 0]);
    await proxy.close();
  });

  it('keeps 1 KiB of the response, as text without control characters and half characters', async () => {
    receiver.respondWith((response) =>
      response.writeHead(200).end(`\u0000\u001b${'a'.repeat(1_021)}€${'b'.repeat(5_000)}`),
    );
    const { response } = await post(outbound());
    expect(response).toBe(`  ${'a'.repeat(1_021)}`);
    receiver.respondWith((made) => made.writeHead(200).end(Buffer.from([0xff, 0x61])));
    expect((await post(outbound())).response).toBe('\ufffda');
  });

  it('takes the status of a receiver whose response is longer than 16 KiB, and reads no more', async () => {
    const length = 'a'.repeat(16_384);
    receiver.respondWith(status(200, length));
    expect(await post(outbound())).toEqual(received(200, length));
    receiver.respondWith((response) => {
      const write = () => response.write('a'.repeat(1_000), (error) => void (error ?? write()));
      response.writeHead(200);
      write();
    });
    expect(await post(outbound())).toEqual(received(200, length));
  });

  it('takes the status of a receiver that ends early', async () => {
    for (const end of ['end', 'destroy', 'resetAndDestroy'] as const) {
      const half = await tcp((socket) =>
        socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc', () => socket[end]())),
      );
      expect(await post(outbound(), half)).toMatchObject({ responseStatus: 200 });
    }
  });

  it('ends in time if the receiver hangs, with its status if there is one', async () => {
    // The spec ends the time, so that a busy machine does not.
    jest.useFakeTimers({ doNotFake: ['nextTick', 'performance', 'queueMicrotask', 'setImmediate'] });
    const passes = () => void jest.advanceTimersByTime(50);
    receiver.respondWith(passes);
    expect(await post(outbound({ timeoutMs: 50 }))).toMatchObject({ error: 'timeout' });

    const isReceived = () => void setImmediate(passes);
    subscribe('http.client.response.finish', isReceived);
    receiver.respondWith((response) => response.writeHead(500).write('begun'));
    expect(await post(outbound({ timeoutMs: 50 }))).toEqual(received(500, 'begun'));
    unsubscribe('http.client.response.finish', isReceived);
    jest.useRealTimers();
  });

  it('fails if the connection is refused or reset, or if the response is no HTTP', async () => {
    const reset = await tcp((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const noHttp = await tcp((socket) => socket.once('data', () => socket.end('hello\r\n\r\n')));
    const upgrade = await tcp((socket) =>
      socket.once('data', () => socket.write('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: a\r\n\r\n')),
    );
    for (const url of ['http://127.0.0.1:1/', reset, noHttp, upgrade]) {
      expect(await post(outbound(), url)).toMatchObject({ error: 'connection_failed' });
    }
  });

  /** Opens connections that stay open while idle, and ends those of each later request. Returns how many requests come then. */
  async function endingAfterIdle(one: Outbound, end: (socket: Socket) => void): Promise<() => number> {
    const idle: (() => void)[] = [];
    receiver.respondWith((response) => {
      if (receiver.received.length > IDLE) return end(response.socket!);
      idle.push(() => response.writeHead(204).end());
      if (idle.length === IDLE) idle.forEach((respond) => respond());
    });
    await Promise.all(Array.from({ length: IDLE }, () => post(one)));
    return () => receiver.received.length - IDLE;
  }

  it('is sent again on a connection of its own if an idle one was closed meanwhile', async () => {
    const one = outbound();
    const requests = await endingAfterIdle(one, (socket) => {
      if (receiver.received.length === IDLE + 1) socket.resetAndDestroy();
      else socket.end('HTTP/1.1 204 No Content\r\n\r\n');
    });
    expect(await post(one)).toMatchObject({ responseStatus: 204 });
    expect([requests(), receiver.connections()]).toEqual([2, IDLE + 1]);
  });

  it.each([
    ['closes', (socket: Socket) => void socket.destroy()],
    ['resets', (socket: Socket) => void socket.resetAndDestroy()],
  ])('is sent again once if the receiver %s each connection, however many are idle', async (_how, end) => {
    const one = outbound();
    const requests = await endingAfterIdle(one, end);
    expect(await post(one)).toMatchObject({ error: 'connection_failed' });
    expect([requests(), receiver.connections()]).toEqual([2, IDLE + 1]);
  });

  it('is sent once on a connection of its own if the caller demands it', async () => {
    const one = outbound();
    const requests = await endingAfterIdle(one, (socket) => void socket.destroy());
    expect(await post(one, receiver.url, undefined, true)).toMatchObject({ error: 'connection_failed' });
    expect([requests(), receiver.connections()]).toEqual([1, IDLE + 1]);
  });

  it('can be aborted', async () => {
    receiver.respondWith(() => control.abort());
    const control = new AbortController();
    await expect(post(outbound(), receiver.url, control.signal)).rejects.toThrow(RequestAbortedError);
    await expect(post(outbound(), receiver.url, control.signal)).rejects.toThrow(RequestAbortedError);
    expect(receiver.received).toHaveLength(1);
  });
});

const received = (responseStatus: number, response: string) => ({
  ...{ durationMs: expect.any(Number) as number, responseStatus, response: response.slice(0, 1_024) },
});

describe('the address of a request', () => {
  const named = () => `http://receiver.example:${receiver.port}/hook`;

  it.each([['127.0.0.1'], ['::1'], ['::ffff:127.0.0.1'], ['10.0.0.1'], ['169.254.169.254'], ['0.0.0.0']])(
    'is not %s, whatever the name',
    async (address) => {
      const { resolve } = resolving([address]);
      expect(await post(outbound({ ...LIVE, resolve }), named())).toMatchObject({ error: 'connection_failed' });
      expect(receiver.connections()).toBe(0);
    },
  );

  it('is not one of the URL', async () => {
    for (const url of [receiver.url, 'http://[::1]/', 'http://[::ffff:7f00:1]/', 'http://2130706433/']) {
      expect(await post(outbound(LIVE), url)).toMatchObject({ error: 'connection_failed' });
    }
    expect(receiver.connections()).toBe(0);
  });

  it('is not a private one among public ones', async () => {
    const { resolve } = resolving(['1.1.1.1', '127.0.0.1']);
    expect(await post(outbound({ ...LIVE, resolve }), named())).toMatchObject({ error: 'connection_failed' });
    expect(receiver.connections()).toBe(0);
  });

  it('is checked for the connection that is made, so that a name that resolves anew gains nothing', async () => {
    // A check before the request would have got the public address.
    const { resolve, calls } = resolving(['1.1.1.1'], ['127.0.0.1']);
    await resolve('receiver.example');
    expect(await post(outbound({ ...LIVE, resolve }), named())).toMatchObject({ error: 'connection_failed' });
    expect(calls()).toBe(2);
    expect(receiver.connections()).toBe(0);
  });

  it('is not one that the operator refuses, also if it is allowed', async () => {
    const { resolve } = resolving(['127.0.0.1']);
    const allowedNetworks = networksOf(['127.0.0.0/8']);
    const refusing = { ...LIVE, allowedNetworks, refusedNetworks: networksOf(['127.0.0.1/32']), resolve };
    expect(await post(outbound(refusing), named())).toMatchObject({ error: 'connection_failed' });
    expect(receiver.connections()).toBe(0);
  });

  it('is found while every thread for look-ups of the system waits', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'webhook-threads-'));
    const pipes = Array.from({ length: Number(process.env.UV_THREADPOOL_SIZE ?? 4) }, (_, index) =>
      join(folder, `${index}`),
    );
    execFileSync('mkfifo', pipes);
    // Each waits in a thread until the pipe has a writer.
    const waiting = pipes.map((pipe) => open(pipe, 'r'));
    const resolve = nameResolver({ servers: [await nameServer('127.0.0.1')] });
    expect(await post(outbound({ resolve, connectMs: 60_000 }), named())).toMatchObject({ responseStatus: 204 });
    expect(await post(outbound(), named().replace('receiver.example', 'localhost'))).toMatchObject({
      responseStatus: 204,
    });
    const writers = pipes.map((pipe) => openSync(pipe, constants.O_RDWR));
    for (const handle of await Promise.all(waiting)) await handle.close();
    for (const writer of writers) closeSync(writer);
    rmSync(folder, { recursive: true });
  });

  it('is not waited for if the name server is silent', async () => {
    let questions = 0;
    const server = await nameServer(undefined, () => void (questions += 1));
    const one = outbound({ resolve: nameResolver({ servers: [server], resolveMs: 1 }), connectMs: 60_000 });
    const results = await Promise.all(Array.from({ length: 32 }, () => post(one, named())));
    expect(results.map(({ error }) => error)).toEqual(results.map(() => 'connection_failed'));
    // The requests share the first questions for both families. Without the limit, each is asked three times.
    expect(questions).toBeLessThan(6);
  });

  it('may be loopback in a sandbox, or in a network that is allowed', async () => {
    const { resolve } = resolving(['127.0.0.1']);
    expect(await post(outbound({ resolve }), named())).toMatchObject({ responseStatus: 204 });
    const allowedNetworks = networksOf(['127.0.0.0/8']);
    expect(await post(outbound({ ...LIVE, allowedNetworks, resolve }), named())).toMatchObject({ responseStatus: 204 });
  });
});

describe('TLS', () => {
  it('is verified', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'webhook-tls-'));
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
    const subject = ['-subj', '/CN=receiver.example', '-addext', 'subjectAltName=DNS:receiver.example'];
    const made = ['-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', certificate, '-days', '2'];
    execFileSync('openssl', ['req', '-x509', ...made, ...subject], { stdio: 'ignore' });
    const tls = { key: readFileSync(key), cert: readFileSync(certificate) };
    rmSync(folder, { recursive: true });
    const server = https.createServer(tls, (_request, response) => response.writeHead(204).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    opened.push({ close: () => server.close() }, { close: () => server.closeAllConnections() });
    const { port } = server.address() as AddressInfo;
    const { resolve } = resolving(['127.0.0.1']);
    const trusting = { resolve, ca: tls.cert.toString() };

    expect(await post(outbound({ resolve }), `https://receiver.example:${port}/`)).toMatchObject({
      error: 'tls_failed',
    });
    expect(await post(outbound(trusting), `https://other.example:${port}/`)).toMatchObject({ error: 'tls_failed' });
    expect(await post(outbound(trusting), `https://receiver.example:${port}/`)).toMatchObject({ responseStatus: 204 });
    expect(await post(outbound(trusting), receiver.url.replace('http:', 'https:'))).toMatchObject({
      error: 'tls_failed',
    });
  });
});
