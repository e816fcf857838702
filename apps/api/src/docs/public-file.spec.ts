import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import fastify from 'fastify';
import { encodingFor, PublicFile } from './docs-page.js';

const TEXT = 'A page that is longer than one packet. '.repeat(100);

const serverOf = (text: string) => {
  let reads = 0;
  const server = fastify();
  const file = new PublicFile('text/plain', () => {
    reads += 1;
    return text;
  });
  server.get('/', (request, reply) => file.send(request, reply));
  return { get: (headers = {}) => server.inject({ url: '/', headers }), reads: () => reads };
};

describe('a public file', () => {
  it('is sent in the encoding that the client accepts, and read once', async () => {
    const { get, reads } = serverOf(TEXT);

    const [plain, gzip, br] = [
      await get(),
      await get({ 'accept-encoding': 'gzip' }),
      await get({ 'accept-encoding': 'gzip, br' }),
    ];

    expect(plain.body).toBe(TEXT);
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect([gzip.headers['content-encoding'], gunzipSync(gzip.rawPayload).toString()]).toEqual(['gzip', TEXT]);
    expect([br.headers['content-encoding'], brotliDecompressSync(br.rawPayload).toString()]).toEqual(['br', TEXT]);
    expect(new Set([plain, gzip, br].map(({ headers }) => headers.etag)).size).toBe(3);
    for (const { headers } of [plain, gzip, br]) {
      expect(headers).toMatchObject({
        vary: 'accept-encoding',
        'cache-control': 'no-cache',
        'content-type': 'text/plain',
      });
    }
    expect(reads()).toBe(1);
  });

  it('is 304 without a body for a client that has it', async () => {
    const { get } = serverOf(TEXT);
    for (const encoding of ['identity', 'gzip', 'br']) {
      const { headers } = await get({ 'accept-encoding': encoding });
      const again = await get({ 'accept-encoding': encoding, 'if-none-match': headers.etag });

      expect([again.statusCode, again.rawPayload.length, again.headers.etag]).toEqual([304, 0, headers.etag]);
      expect((await get({ 'accept-encoding': encoding, 'if-none-match': '"another"' })).statusCode).toBe(200);
      expect((await get({ 'accept-encoding': encoding, 'if-match': `"another", ${headers.etag}` })).statusCode).toBe(
        200,
      );
    }
  });

  it('is not compressed below a thousand bytes', async () => {
    const response = await serverOf('short').get({ 'accept-encoding': 'br' });

    expect([response.body, response.headers['content-encoding']]).toEqual(['short', undefined]);
  });
});

describe('a public file that cannot be read', () => {
  it('is read again by the next request', async () => {
    let reads = 0;
    const server = fastify();
    const file = new PublicFile('text/plain', () => {
      reads += 1;
      if (reads === 1) throw new Error('too many open files');
      return TEXT;
    });
    server.get('/', (request, reply) => file.send(request, reply));

    expect((await server.inject('/')).statusCode).toBe(500);
    expect((await server.inject('/')).body).toBe(TEXT);
  });
});

describe('the encoding', () => {
  it.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip, deflate, br, zstd', 'br'],
    ['GZIP', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['br;q=0.0,gzip; q=0', 'identity'],
    ['br ; q=0.001', 'br'],
    ['brotli, xgzip', 'identity'],
    ['*', 'identity'],
  ])('for %j is %s', (header, encoding) => {
    expect(encodingFor(header)).toBe(encoding);
  });
});
