import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { LOCAL_ISSUER, LocalIssuer, LocalIssuerError } from './local-issuer.js';

describe('Given a data folder without a signing key', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'local-issuer-'));
  });
  afterEach(() => rm(dataDir, { recursive: true, force: true }));

  const wish = { email: 'ada@northwind.example', audience: 'banking-api', lifetimeSeconds: 60 };

  it('When ten processes open it at once, Then they agree on one key, which only its owner can read', async () => {
    const issuers = await Promise.all(Array.from({ length: 10 }, () => LocalIssuer.open(dataDir)));

    expect(new Set(issuers.map(({ keySet }) => keySet.keys[0]?.kid)).size).toBe(1);
    expect(await readdir(dataDir)).toEqual(['signing-key.json']);
    expect((await stat(join(dataDir, 'signing-key.json'))).mode & 0o777).toBe(0o600);
  });

  it('When a token is signed, Then the public half proves it and holds no secret', async () => {
    const issuer = await LocalIssuer.open(dataDir);
    const token = await issuer.sign(wish);

    const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(issuer.keySet), {
      issuer: LOCAL_ISSUER,
      audience: 'banking-api',
      typ: 'at+jwt',
    });
    expect(payload).toMatchObject({ sub: wish.email, email: wish.email, email_verified: true });
    expect(payload.exp! - payload.iat!).toBe(60);
    expect(protectedHeader.alg).toBe('ES256');
    expect(issuer.keySet.keys[0]).not.toHaveProperty('d');
  });

  it('When it is opened again, Then the key is the same', async () => {
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
  ])('When %s, Then the key is not trusted', async (_, meddle) => {
    await LocalIssuer.open(dataDir);
    await meddle();

    await expect(LocalIssuer.open(dataDir)).rejects.toThrow(LocalIssuerError);
  });

  it('When the folder is open to others before there is a key, Then none is made there to be trusted', async () => {
    await chmod(dataDir, 0o777);

    await expect(LocalIssuer.open(dataDir)).rejects.toThrow(/chmod go-w/);
  });

  it('When the key is damaged, Then the error says what to do', async () => {
    await writeFile(join(dataDir, 'signing-key.json'), '{"kty":', { mode: 0o600 });

    await expect(LocalIssuer.open(dataDir)).rejects.toThrow(LocalIssuerError);
    await expect(LocalIssuer.open(dataDir)).rejects.toThrow(/Remove it and start again/);
  });
});
