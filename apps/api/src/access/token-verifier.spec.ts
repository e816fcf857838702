import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Refusal } from '@banking/domain';
import type { TokenConfig } from '../config.js';
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
  const issuer = 'http://127.0.0.1:1';
  const header = Buffer.from('{"alg":"ES256","kid":"a","typ":"at+jwt"}').toString('base64url');
  const token = `${header}.e30.${Buffer.alloc(64).toString('base64url')}`;

  it.each([
    [
      'found by discovery',
      { kind: 'discovery', issuer },
      /^http:\/\/127\.0\.0\.1:1 does not answer as an OpenID provider: .+\. Check OIDC_ISSUER and the way there, or /,
    ],
    [
      'named by a URL',
      { kind: 'jwks-url', issuer, url: `${issuer}/keys` },
      /^the keys of http:\/\/127\.0\.0\.1:1 cannot be fetched: .+\. Check JWKS_URL, or .+, or set JWKS_FILE$/,
    ],
  ] as const)(
    'When its keys are %s, Then the log is told why and what to check, the caller neither',
    async (...row) => {
      const [, source, why] = row;
      const verifier = await TokenVerifier.open({ tokens: { audience: 'a', type: 'at+jwt', source }, dataDir: '' });

      const refusal = await verifier.subjectOf(token).then(
        () => undefined,
        (error: Refusal) => error,
      );

      expect(refusal).toMatchObject({ reason: 'unavailable' });
      expect(refusal?.message).toBe('The identity provider cannot be reached.');
      expect((refusal?.cause as Error).message).toMatch(why);
    },
  );
});
