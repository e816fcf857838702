import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import type { DemoIds } from '@banking/operations/demo';
import { World } from './testing/world.js';

describe('token', () => {
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

  it('tells that it created a database, as with a mistyped DATA_DIR', async () => {
    const empty = new World();
    const { exitCode, stderr } = await empty.run(['token', ADA]);
    const again = await empty.run(['token', ADA]);
    await empty.close();

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: `created the database in ${empty.dataDir}\n` });
    expect(again.stderr).toBe('');
  });

  beforeAll(() => world.fill());
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
      await world.query('delete from demo_step');
      const stranger = 'stranger@northwind.example';
      const { exitCode, stderr } = await world.run(['token', stranger], { DEMO_DATA: 'off' });

      expect({ exitCode, stderr }).toEqual({
        exitCode: 1,
        stderr: `There is no user ${stranger}. See banking user list.\n`,
      });
    });
  });
});

describe('banking demo', () => {
  const world = new World();

  beforeAll(() => world.openDemo());
  afterAll(() => world.close());

  // The template of DATA_DIR is what this command has created.
  it('prints the ids of the demo data by name', async () => {
    const demo = await world.json<DemoIds>('demo');

    expect(Object.keys(demo)).toEqual(['apps', 'users', 'workspaces', 'accounts', 'recipients', 'transfers']);
    expect(Object.keys(demo.users)).toEqual([
      'ada@northwind.example',
      'bob@northwind.example',
      'dana@northwind.example',
      'cy@northwind.example',
      'eve@southwind.example',
      'gateway@northwind.example',
    ]);
    expect(Object.keys(demo.recipients).sort()).toEqual(['internal', 'international']);
    expect(Object.keys(demo.transfers).sort()).toEqual([
      'funding',
      'internal',
      'international',
      'pending',
      'returned',
      'spot',
    ]);
    expect(demo.accounts).toHaveProperty('Northwind Trading USD', expect.any(Number));
    const ids = Object.values(demo).flatMap((names) => Object.values(names as Record<string, number>));
    expect(ids.every((id) => Number.isSafeInteger(id) && id > 0)).toBe(true);
  });

  it('prints the same ids as a table without --json', async () => {
    const demo = await world.json<DemoIds>('demo');
    const { stdout } = await world.run(['demo']);

    const [head, ...rows] = stdout.trimEnd().split('\n');
    const names = Object.values(demo).flatMap((ids) => Object.entries(ids as Record<string, number>));
    expect(head).toMatch(/^Kind +Name +Id$/);
    expect(rows.map((row) => /^\w+ +(.+?) +(\d+)$/.exec(row)?.slice(1))).toEqual(
      names.map(([name, id]) => [name, String(id)]),
    );
  });

  it('explains how to create the demo data if DEMO_DATA is off', async () => {
    await world.query('delete from demo_step');
    const { exitCode, stdout, stderr } = await world.run(['demo'], { DEMO_DATA: 'off' });

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/Set DEMO_DATA=on/);
  });
});
