import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type EntryServer, entryServer } from './testing/entry-server.js';

const REQUEST = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';
const HEAD_WITHOUT_BODY =
  'POST /accounts HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ada\r\nWorkspace-ID: 7\r\n' +
  'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n';

describe('a server with a limit of four connections', () => {
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
