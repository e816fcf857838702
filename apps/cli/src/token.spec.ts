import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { joinEmbeddedServer } from '@banking/postgres';
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

describe('Given no server that runs', () => {
  it('When the first token is asked for, Then it is all that is printed, and the server is stopped again', async () => {
    const { exitCode, stdout, stderr } = await world.run(['token', ADA]);
    const server = await joinEmbeddedServer({ dataDir: world.dataDir });
    await server.leave();

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    expect(server.started).toBe(true);
  });
});

describe('Given the demo world, beside a running service', () => {
  beforeAll(() => world.open());

  it('When a user is named, Then the token speaks for them for eight hours', async () => {
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
  ])('When a lifetime of %s is wished, Then the token has it', async (lifetime, seconds) => {
    const { stdout } = await world.run(['token', ADA, '--lifetime', lifetime]);

    const { claims } = open(stdout);
    expect(claims.exp - claims.iat).toBe(seconds);
  });

  it('When the audience is set and the e-mail has capitals, Then the token says the one, and the other as known', async () => {
    const { stdout } = await world.run(['token', 'Ada@Northwind.Example'], { OIDC_AUDIENCE: 'treasury' });

    expect(open(stdout).claims).toMatchObject({ aud: 'treasury', sub: ADA });
  });

  it('When nobody has the e-mail, Then the refusal names the users there are to try', async () => {
    const { exitCode, stdout, stderr } = await world.run(['token', 'nobody@northwind.example']);

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(
      /^There is no user nobody@northwind.example. See banking user list. .*ada@northwind.example/,
    );
    expect(stderr.split('\n')).toHaveLength(2);
  });

  it('When there is an identity provider, Then tokens are refused', async () => {
    const environment = { OIDC_ISSUER: 'https://login.harbour.example' };
    const { exitCode, stdout, stderr } = await world.run(['token', ADA], environment);

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toBe(
      'Tokens come from your identity provider, https://login.harbour.example (OIDC_ISSUER): ask it for one.\n',
    );
  });

  it('When the signing key is damaged, Then the refusal says what to do', async () => {
    const key = join(world.dataDir, 'signing-key.json');
    writeFileSync(key, '{"kty":');

    const { exitCode, stdout, stderr } = await world.run(['token', ADA]);

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toBe(
      `The signing key ${key} is damaged. Remove it and start again: tokens signed with it stop working.\n`,
    );
  });
});

describe('Given a deployment without the demo world', () => {
  it('When nobody has the e-mail, Then the refusal names the command that lists users', async () => {
    const empty = new World();
    const { exitCode, stderr } = await empty.run(['token', ADA], { DEMO_DATA: 'off' });
    await empty.close();

    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: `There is no user ${ADA}. See banking user list.\n` });
  });
});
