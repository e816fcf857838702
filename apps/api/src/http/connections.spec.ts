import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { addressUnit, limitConnectionsPerAddress } from './connections.js';
import { type EntryServer, entryServer } from './testing/entry-server.js';

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
