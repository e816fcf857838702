import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseProxy } from './database-proxy.js';

const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
const COMMIT = Buffer.from('B\0\0\0\x10\0commit\0');

describe('proxy between a process and PostgreSQL', () => {
  let folder: string;
  let server: Server;
  let proxy: DatabaseProxy;
  let client: Socket;
  /** What the server received, and the sockets of its clients. */
  const received: Buffer[] = [];
  const accepted: Socket[] = [];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'banking-faults-spec-'));
    [received.length, accepted.length] = [0, 0];
    const socket = join(folder, 'server');
    // Answers each piece of data with ReadyForQuery, as PostgreSQL does after a Sync.
    server = createServer((one) => {
      accepted.push(one);
      one.on('error', () => undefined);
      one.on('data', (bytes) => {
        received.push(bytes);
        one.write(READY);
      });
    });
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    proxy = await DatabaseProxy.start(socket);
    client = connect(proxy.port, '127.0.0.1');
    client.on('error', () => undefined);
    await once(client, 'connect');
  });

  afterEach(async () => {
    client.destroy();
    await proxy.close();
    for (const socket of accepted) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true, force: true });
  });

  const ended = () => new Promise((resolve) => client.once('close', resolve));
  const forever = () => new AbortController().signal;

  it('passes bytes on in both directions', async () => {
    client.write('hello');

    expect(await once(client, 'data')).toEqual([READY]);
    expect(Buffer.concat(received).toString()).toBe('hello');
  });

  it('withholds the response to a commit that the server has received, until it is released', async () => {
    let responses = 0;
    client.on('data', () => (responses += 1));
    const withheld = proxy.withhold('commit', forever());

    client.write(COMMIT);
    const release = await withheld;

    expect(Buffer.concat(received)).toEqual(COMMIT);
    expect(responses).toBe(0);
    const closed = ended();
    release?.();
    await closed;
    expect(responses).toBe(0);
  });

  it('lets other statements pass while it waits for a commit', async () => {
    const waiting = new AbortController();
    const withheld = proxy.withhold('commit', waiting.signal);

    client.write('B\0\0\0\x10\0select_one\0');

    expect(await once(client, 'data')).toEqual([READY]);
    waiting.abort();
    expect(await withheld).toBeUndefined();
  });

  it('delivers a response that was held back, and what followed it, in order', async () => {
    let responses = '';
    client.on('data', (bytes) => (responses += bytes.toString('latin1')));
    const held = proxy.holdBack('commit', forever());
    client.write(COMMIT);
    const deliver = await held;
    accepted[0]?.write('next');
    // Another connection passes, so what was sent before has reached the proxy.
    const other = connect(proxy.port, '127.0.0.1');
    other.write('hello');
    await once(other, 'data');
    other.destroy();

    expect(responses).toBe('');
    deliver?.();
    while (!responses.endsWith('next')) await once(client, 'data');
    expect(responses).toBe(`${READY.toString('latin1')}next`);
  });

  it('refuses connections until it accepts them again', async () => {
    const closed = ended();
    proxy.refuse();
    await closed;
    const refused = connect(proxy.port, '127.0.0.1');
    const [error] = (await once(refused, 'error')) as [NodeJS.ErrnoException];

    expect(error.code).toBe('ECONNRESET');
    proxy.accept();
    const other = connect(proxy.port, '127.0.0.1');
    other.write('hello');
    expect(await once(other, 'data')).toEqual([READY]);
    other.destroy();
  });

  it('resets the connection before the server has the commit', async () => {
    const cut = proxy.resetAtCommit('before', forever());
    const closed = ended();

    client.write(COMMIT);

    expect(await cut).toBe(true);
    await closed;
    expect(received).toEqual([]);
  });

  it('resets the connection after the server has committed', async () => {
    const cut = proxy.resetAtCommit('after', forever());
    const closed = ended();

    client.write(COMMIT);

    expect(await cut).toBe(true);
    await closed;
    expect(Buffer.concat(received)).toEqual(COMMIT);
  });

  it('closes the connection of a client that is just ending its side', async () => {
    const open = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    client.write('hello');
    await once(client, 'data');
    const before = open();
    // As when the client was killed: its end arrived, and the socket of the proxy is shutting down.
    const [link] = Reflect.get(proxy, 'links') as Set<{ readonly client: Socket }>;
    link?.client.end();
    await new Promise((resolve) => process.nextTick(() => process.nextTick(resolve)));
    const closed = ended();

    proxy.reset();

    await closed;
    // Both ends of the connection. A handle that stays open takes a whole core.
    for (let turn = 0; turn < 1_000 && open() > before - 2; turn += 1)
      await new Promise((resolve) => setImmediate(resolve));
    expect(open()).toBe(before - 2);
  });

  it('drops what is sent in silence, and resets the connection when the silence ends', async () => {
    client.write('before');
    await once(client, 'data');
    proxy.silence();
    client.write('lost');
    const other = connect(proxy.port, '127.0.0.1');
    other.write('new');
    await once(other, 'data');

    expect(Buffer.concat(received).toString()).toBe('beforenew');
    const closed = ended();
    proxy.endSilence();
    await closed;
    other.destroy();
  });
});
