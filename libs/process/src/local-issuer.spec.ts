import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { LOCAL_ISSUER, LocalIssuer, LocalIssuerError } from './local-issuer.js';

describe('local issuer', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'local-issuer-'));
  });
  afterEach(() => rm(dataDir, { recursive: true, force: true }));

  const options = { email: 'ada@northwind.example', audience: 'banking-api', lifetimeSeconds: 60 };

  it('creates one key for ten concurrent processes, readable only by its owner', async () => {
    const issuers = await Promise.all(Array.from({ length: 10 }, () => LocalIssuer.open(dataDir)));

    expect(new Set(issuers.map(({ keySet }) => keySet.keys[0]?.kid)).size).toBe(1);
    expect(await readdir(dataDir)).toEqual(['signing-key.json']);
    expect((await stat(join(dataDir, 'signing-key.json'))).mode & 0o777).toBe(0o600);
  });

  it('signs tokens that the public key verifies, and publishes no secret', async () => {
    const issuer = await LocalIssuer.open(dataDir);
    const token = await issuer.sign(options);

    const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(issuer.keySet), {
      issuer: LOCAL_ISSUER,
      audience: 'banking-api',
      typ: 'at+jwt',
    });
    expect(payload).toMatchObject({ sub: options.email, email: options.email, email_verified: true });
    expect(payload.exp! - payload.iat!).toBe(60);
    expect(protectedHeader.alg).toBe('ES256');
    expect(issuer.keySet.keys[0]).not.toHaveProperty('d');
  });

  it('uses the same key when it is opened again', async () => {
    const first = await LocalIssuer.open(dataDir);
    const second = await LocalIssuer.open(dataDir);

    expect(second.keySet).toEqual(first.keySet);
  });

  it.each([
    ['the key can be read by others', async () => chmod(join(dataDir, 'signing-key.json'), 0o644)],
    ['others can write to the folder', async () => chmod(dataDir, 0o777)],
    [
      'the key is a link to somewhere else',
      async () => {
        await rename(join(dataDir, 'signing-key.json'), join(dataDir, 'elsewhere.json'));
        await symlink('elsewhere.json', join(dataDir, 'signing-key.json'));
      },
    ],
    [
      'the key is a folder',
      async () => {
        await rm(join(dataDir, 'signing-key.json'));
        await mkdir(join(dataDir, 'signing-key.json'), { mode: 0o700 });
      },
    ],
  ])('refuses the key if %s', async (_, change) => {
    await LocalIssuer.open(dataDir);
    await change();

    await expect(LocalIssuer.open(dataDir)).rejects.toThrow(LocalIssuerError);
  });

  it('refuses to create a key in a folder that others can write to', async () => {
    await chmod(dataDir, 0o777);

    await expect(LocalIssuer.open(dataDir)).rejects.toThrow(/chmod go-w/);
  });

  it('says what to do about a damaged key', async () => {
    await writeFile(join(dataDir, 'signing-key.json'), '{"kty":', { mode: 0o600 });

    await expect(LocalIssuer.open(dataDir)).rejects.toThrow(LocalIssuerError);
    await expect(LocalIssuer.open(dataDir)).rejects.toThrow(/Remove it and start again/);
  });
});
