import { EventEmitter, once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import fastify from 'fastify';
import { until } from '@banking/postgres/testing';
import {
  addressUnit,
  closeUnusedConnections,
  isResponseOver,
  keepHeldConnections,
  limitConnectionsPerAddress,
  onResponseEnd,
} from './connections.js';
import { boundHandlers } from './handler-deadline.js';
import { LIMITS } from './limits.js';
import { type EntryServer, entryServer } from './testing/entry-server.js';

describe('connections', () => {
  const REQUEST = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';

  describe('a server with a limit of two connections per address', () => {
    let server: EntryServer;
    beforeEach(async () => {
      server = await entryServer({ connectionsPerAddress: 2 });
    });
    afterEach(() => server.close());

    /** Both ends of a connection that the server has accepted. */
    async function open(): Promise<{ readonly client: Socket; readonly accepted: Socket }> {
      const connection = once(server.app.getHttpServer(), 'connection');
      const client = connect(server.port, '127.0.0.1');
      client.on('error', () => undefined);
      const [accepted] = (await connection) as [Socket];
      return { client, accepted };
    }

    const isServed = async ({ client }: { client: Socket }) => {
      client.write(REQUEST);
      const [first] = (await Promise.race([once(client, 'data'), once(client, 'close')])) as [Buffer | boolean];
      return Buffer.isBuffer(first);
    };

    it('closes the third without a byte and serves the others', async () => {
      const [first, second, third] = [await open(), await open(), await open()];

      expect(await text(third.client)).toBe('');
      expect([await isServed(first), await isServed(second)]).toEqual([true, true]);
      expect(await isServed(await open())).toBe(false);
    });

    it.each<[string, (socket: Socket) => unknown]>([
      ['ended', (client) => client.end()],
      ['destroyed', (client) => client.destroy()],
      ['reset', (client) => client.resetAndDestroy()],
      ['reset within a request', (client) => client.write(REQUEST.slice(0, 20), () => client.resetAndDestroy())],
    ])('counts exactly, however often connections are %s', async (_, give) => {
      for (let times = 0; times < 20; times += 1) {
        const { client, accepted } = await open();
        const closed = new Promise((resolve) => accepted.once('close', resolve));
        give(client);
        await closed;
      }

      const after = [await open(), await open(), await open()];

      expect(await Promise.all(after.map(isServed))).toEqual([true, true, false]);
    });
  });

  describe('connections of many addresses', () => {
    /** A server that accepts connections of given addresses. */
    function world(max: number) {
      const server = new EventEmitter();
      const log = { warn: jest.fn() };
      limitConnectionsPerAddress({ server, log } as never, max);
      const open = (remoteAddress: string | undefined) => {
        const socket = Object.assign(new EventEmitter(), { remoteAddress, destroy: jest.fn() });
        server.emit('connection', socket);
        return { socket, isOpen: socket.destroy.mock.calls.length === 0 };
      };
      return { open, log };
    }

    it('are counted by address, with a refusal logged once a minute without the address', () => {
      const { open, log } = world(1);

      const opened = ['10.0.0.1', '10.0.0.1', '10.0.0.2', '10.0.0.2', undefined].map((address) => open(address).isOpen);

      expect(opened).toEqual([true, false, true, false, true]);
      expect(log.warn.mock.calls).toEqual([[{ max: 1 }, 'connection refused: too many of one address']]);
    });

    it('are not counted twice when a refused connection closes', () => {
      const { open } = world(1);
      open('10.0.0.1');
      open('10.0.0.1').socket.emit('close');

      expect(open('10.0.0.1').isOpen).toBe(false);
    });

    it.each([
      ['192.0.2.7', '192.0.2.7'],
      ['::ffff:192.0.2.7', '192.0.2.7'],
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
      ['2001:db8:1:2::6', '2001:db8:1:2'],
      ['2001:db8::6', '2001:db8:0:0'],
      ['2001::1:2:3:4:5:6', '2001:0:1:2'],
      ['::1', '0:0:0:0'],
      ['fe80::1%eth0', 'fe80:0:0:0'],
      ['', ''],
    ])('counts %s as %s', (address, holder) => {
      expect(addressUnit(address)).toBe(holder);
    });
  });
});

describe('a server with a limit of four connections', () => {
  const REQUEST = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';
  const HEAD_WITHOUT_BODY =
    'POST /accounts HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ada\r\nWorkspace-ID: 7\r\n' +
    'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n';

  let server: EntryServer;
  beforeEach(async () => {
    server = await entryServer({ connections: 4 });
  });
  afterEach(() => server.close());

  /** A connection that the server has accepted. */
  async function open(): Promise<Socket> {
    const connection = once(server.app.getHttpServer(), 'connection');
    const client = connect(server.port, '127.0.0.1');
    client.on('error', () => undefined);
    await connection;
    return client;
  }

  async function isServed(client: Socket, bytes = REQUEST): Promise<boolean> {
    if (client.destroyed) return false;
    client.write(bytes);
    const [first] = (await Promise.race([once(client, 'data'), once(client, 'close')])) as [Buffer | boolean];
    return Buffer.isBuffer(first);
  }

  it('closes the oldest connection without a request for a new one', async () => {
    const silent = [await open(), await open(), await open()];
    const [first] = silent as [Socket, Socket, Socket];
    const closed = once(first.resume(), 'close');

    const newest = await open();
    await closed;

    expect(await Promise.all([newest, ...silent.slice(1)].map((client) => isServed(client)))).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('serves every new client, however many connections are idle', async () => {
    for (let times = 0; times < 40; times += 1) {
      const [idle, client] = [await open(), await open()];
      idle.resume();

      expect(await isServed(client)).toBe(true);
    }
  });

  it('keeps connections that carried a request before those that carried none', async () => {
    const used = [await open(), await open()];
    for (const client of used) expect(await isServed(client)).toBe(true);
    const silent = await open();
    const closed = once(silent.resume(), 'close');

    const newest = await open();
    await closed;

    expect(await Promise.all([...used, newest].map((client) => isServed(client)))).toEqual([true, true, true]);
  });

  it('closes the connection that is idle for longest if every other one carried a request', async () => {
    const used = [await open(), await open(), await open()];
    for (const client of used) expect(await isServed(client)).toBe(true);
    // The first is used again, so the second is idle for longest.
    const [first, second, third] = used as [Socket, Socket, Socket];
    expect(await isServed(first)).toBe(true);
    const closed = once(second.resume(), 'close');

    const newest = await open();
    await closed;

    expect(await Promise.all([first, third, newest].map((client) => isServed(client)))).toEqual([true, true, true]);
  });

  it('closes no connection whose request is not complete yet, and refuses the fifth', async () => {
    const busy: Socket[] = [];
    for (let times = 0; times < 4; times += 1) {
      const client = await open();
      const accepted = once(server.app.getHttpServer(), 'request');
      client.write(HEAD_WITHOUT_BODY);
      await accepted;
      busy.push(client);
    }

    const fifth = connect(server.port, '127.0.0.1').on('error', () => undefined);
    await once(fifth.resume(), 'close');

    expect(await Promise.all(busy.map((client) => isServed(client, '{}')))).toEqual([true, true, true, true]);
  });
});

describe('a server that closes', () => {
  const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
  const SERVED = /^HTTP\/1\.1 200 .*\r\nconnection: close\r\n.*served$/is;

  async function start() {
    const server = fastify({ forceCloseConnections: 'idle', return503OnClosing: false });
    let isWaiting = false;
    let closeUnused = () => undefined as void;
    closeUnusedConnections(server, (close) => ([isWaiting, closeUnused] = [true, close]));
    server.get('/', async () => 'served');
    await server.listen({ port: 0, host: '127.0.0.1' });
    const { port } = server.server.address() as AddressInfo;
    const open = () => connect(port, '127.0.0.1').on('error', () => undefined);
    return { server, open, hasStopped: () => until(() => isWaiting), closeUnused: () => closeUnused() };
  }

  it('serves a request that was on its way, and then closes connections without one', async () => {
    const { server, open, hasStopped, closeUnused } = await start();
    const accepted = async () => {
      const connection = once(server.server, 'connection');
      const client = open();
      await connection;
      return client;
    };
    const [late, unused] = [await accepted(), await accepted()];

    const closed = server.close();
    await hasStopped();
    late.write(REQUEST);
    expect(await text(late)).toMatch(SERVED);
    const ended = once(unused.resume(), 'close');
    closeUnused();

    await Promise.all([ended, closed]);
  });

  it('serves the connections that the kernel has accepted for it', async () => {
    const { server, open, hasStopped, closeUnused } = await start();
    const responses = Array.from({ length: 20 }, async () => {
      const client = open();
      client.write(REQUEST);
      return text(client);
    });

    const closed = server.close();

    for (const response of await Promise.all(responses)) expect(response).toMatch(SERVED);
    await hasStopped();
    closeUnused();
    await closed;
  });
});

describe('a route whose requests are held', () => {
  it('has more time than other routes', async () => {
    const server = fastify();
    boundHandlers(server, { withdrawAfterMs: 1, respondAfterMs: 1, checkEveryMs: 1 });
    let finish: (word: string) => void = () => undefined;
    const ended = new Promise<string>((resolve) => (finish = resolve));
    server.get('/', () => ended);
    server.get('/held', { config: { holdMs: 1_000_000 } }, () => ended);
    server.get('/held-briefly', { config: { holdMs: 1 } }, () => new Promise(() => undefined));

    const held = server.inject('/held');
    for (const path of ['/', '/held-briefly', '/']) {
      expect((await server.inject(path)).json()).toMatchObject({ message: 'The response took too long.' });
    }
    finish('in time');
    expect((await held).body).toBe('in time');
    await server.close();
  });

  it.each([
    ['/held', LIMITS.idleTimeoutMs + 20_000, 'close'],
    ['/', 12_345, 'keep-alive'],
  ])('keeps its connection and closes it in a stop: %s', async (path, timeoutMs, connection) => {
    const server = fastify({ connectionTimeout: 12_345 });
    keepHeldConnections(server, { begun: true });
    const timeouts: (number | undefined)[] = [];
    const handler = (call: { raw: { socket: Socket } }) => {
      timeouts.push(call.raw.socket.timeout);
      return { done: true };
    };
    server.get('/', handler);
    server.get('/held', { config: { holdMs: 20_000 } }, handler);
    await server.listen({ port: 0, host: '127.0.0.1' });
    const { port } = server.server.address() as AddressInfo;

    const sent = request({ port, host: '127.0.0.1', path, headers: { connection: 'keep-alive' } });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    sent.destroy();
    await server.close();

    expect(timeouts).toEqual([timeoutMs]);
    expect(response.headers.connection).toBe(connection);
  });
});

describe('onResponseEnd', () => {
  /** A server whose responses are sent by hand, and the requests whose responses have ended. */
  async function listening() {
    const server = fastify();
    const arrived: (() => void)[] = [];
    const over: boolean[] = [];
    let ended = 0;
    server.get('/', (_request, reply) => {
      onResponseEnd(reply, () => {
        ended += 1;
        over.push(isResponseOver(reply));
      });
      arrived.push(() => void reply.send('ok'));
    });
    await server.listen({ port: 0, host: '127.0.0.1' });
    const [{ port } = { port: 0 }] = server.addresses();
    return {
      server,
      arrived,
      over,
      connect: () => connect(port, '127.0.0.1').on('error', () => undefined),
      ended: () => ended,
    };
  }

  const GET = 'GET / HTTP/1.1\r\nhost: bank.example\r\n\r\n';

  it('reports each response of a pipeline once, when it has been sent', async () => {
    const { server, arrived, connect, ended } = await listening();
    const client = connect();
    client.resume().write(GET.repeat(2));
    await until(() => arrived.length === 2);

    arrived[0]?.();
    await until(() => ended() === 1);
    arrived[1]?.();
    await until(() => ended() === 2);

    client.destroy();
    await server.close();
    expect(ended()).toBe(2);
  });

  it('reports the responses that wait behind another one when the connection is closed', async () => {
    const { server, arrived, connect, ended, over } = await listening();
    const client = connect();
    client.write(GET.repeat(3));
    await until(() => arrived.length === 3);

    client.destroy();

    await until(() => ended() === 3);
    expect(over).toEqual([true, true, true]);
    await server.close();
  });
});
