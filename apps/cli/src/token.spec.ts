import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { World } from './testing/world.js';

const ADA = 'ada@northwind.example';
const world = new World();

/** The parts of a token, once its signature is proven with the key of DATA_DIR. */
function open(token: string) {
  const [head = '', body = '', signature = ''] = token.trimEnd().split('.');
  const key = createPublicKey({ key: JSON.parse(world.file('signing-key.json')) as JsonWebKey, format: 'jwk' });
  const signed = Buffer.from(`${head}.${body}`);
  if (!verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'))) {
    throw new Error('the signature does not hold');
  }
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
  return { header: read(head), claims: read(body) as Record<string, unknown> & { iat: number; exp: number } };
}

afterAll(() => world.close());

describe('banking token without a running server', () => {
  it('prints the token only, and stops the server', async () => {
    const { exitCode, stdout, stderr } = await world.run(['token', ADA]);
    const server = await attachEmbeddedServer({ dataDir: world.dataDir });
    await server.detach();

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    expect(server.started).toBe(true);
  });
});

describe('banking token beside a running service', () => {
  beforeAll(() => world.open());

  it('signs a token of the user for eight hours', async () => {
    const { stdout } = await world.run(['token', ADA]);

    const { header, claims } = open(stdout);
    expect(header).toMatchObject({ alg: 'ES256', typ: 'at+jwt' });
    expect(claims).toMatchObject({ iss: 'urn:banking:local', sub: ADA, aud: 'banking-api', email: ADA });
    expect(claims.exp - claims.iat).toBe(8 * 3600);
  });

  it.each([
    ['90s', 90],
    ['15m', 900],
    ['24h', 86_400],
  ])('signs a token with a lifetime of %s', async (lifetime, seconds) => {
    const { stdout } = await world.run(['token', ADA, '--lifetime', lifetime]);

    const { claims } = open(stdout);
    expect(claims.exp - claims.iat).toBe(seconds);
  });

  it('signs a token with the configured audience and the stored spelling of the e-mail', async () => {
    const { stdout } = await world.run(['token', 'Ada@Northwind.Example'], { OIDC_AUDIENCE: 'treasury' });

    expect(open(stdout).claims).toMatchObject({ aud: 'treasury', sub: ADA });
  });

  it('names the demo users if the user does not exist', async () => {
    const { exitCode, stdout, stderr } = await world.run(['token', 'stranger@northwind.example']);

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(
      /^There is no user stranger@northwind.example. See banking user list. .*ada@northwind.example/,
    );
    expect(stderr.split('\n')).toHaveLength(2);
  });

  it('refuses in a live deployment', async () => {
    const { exitCode, stdout, stderr } = await world.run(['token', ADA], { SANDBOX: 'off' });

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toBe('A live deployment accepts tokens of an identity provider only. Get a token from it.\n');
  });

  it('refuses if an identity provider issues the tokens', async () => {
    const environment = { OIDC_ISSUER: 'https://login.harbour.example' };
    const { exitCode, stdout, stderr } = await world.run(['token', ADA], environment);

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toBe(
      'The identity provider https://login.harbour.example issues the tokens (OIDC_ISSUER). Get a token from it.\n',
    );
  });

  it('explains what to do about a damaged signing key', async () => {
    const key = join(world.dataDir, 'signing-key.json');
    writeFileSync(key, '{"kty":');

    const { exitCode, stdout, stderr } = await world.run(['token', ADA]);

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toBe(
      `The signing key ${key} is damaged. Remove it and start again: tokens signed with it stop working.\n`,
    );
  });
});

describe('banking token without demo data', () => {
  it('names the command that lists users if the user does not exist', async () => {
    const empty = new World();
    const { exitCode, stderr } = await empty.run(['token', ADA], { DEMO_DATA: 'off' });
    await empty.close();

    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: `There is no user ${ADA}. See banking user list.\n` });
  });
});
