import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Refusal } from '@banking/domain';
import type { TokenConfig } from '../config.js';
import { discoverKeySet } from './discovery.js';
import { TokenVerifier } from './token-verifier.js';

describe('Given a file with the keys of the issuer', () => {
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'keys-'));
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  it.each([
    ['is not there', undefined, /ENOENT/],
    ['is cut short', '{"keys":[', /JSON/],
    ['holds no keys', '{"keys":[]}', /it has no "keys"/],
    ['is something else', '["keys"]', /it has no "keys"/],
  ])('When it %s, Then the start is refused with a mistake that names it', async (_what, text, why) => {
    const file = join(dataDir, 'keys.json');
    if (text !== undefined) await writeFile(file, text);
    const source = { kind: 'jwks-file', issuer: 'https://login.example', file } as const;
    const tokens: TokenConfig = { audience: 'banking-api', type: 'at+jwt', source };

    const work = TokenVerifier.open({ tokens, dataDir });

    await expect(work).rejects.toMatchObject({ mistakes: [expect.stringMatching(why)] });
    await expect(work).rejects.toThrow(`JWKS_FILE ${file} cannot be read as a JSON Web Key Set`);
  });
});

describe('Given an issuer that cannot be reached', () => {
  it('When a token is to be proved, Then the log is told why and what to check, and the caller neither', async () => {
    const keys = discoverKeySet('http://127.0.0.1:1');

    const refusal: Refusal = await Promise.resolve(keys({ alg: 'ES256' }, { payload: '', signature: '' })).then(
      () => {
        throw new Error('there are keys');
      },
      (error: Refusal) => error,
    );

    expect(refusal.reason).toBe('unavailable');
    expect(refusal.message).toBe('The identity provider cannot be reached.');
    expect((refusal.cause as Error).message).toMatch(
      /^http:\/\/127\.0\.0\.1:1 does not answer as an OpenID provider: .+\. Check OIDC_ISSUER and the way there, or name the keys by JWKS_URL or JWKS_FILE$/,
    );
  });
});
