import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Refusal } from '@banking/domain';
import type { TokenConfig } from '../config.js';
import type { KeyReport } from './issuer-keys.js';
import { CredentialError, TokenVerifier } from './token-verifier.js';

describe('TokenVerifier with JWKS_FILE', () => {
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'keys-'));
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  it.each([
    ['does not exist', undefined, 'cannot be read (ENOENT)'],
    ['is truncated', '{"keys":[', 'is no JSON'],
    ['contains no keys', '{"keys":[]}', 'has no "keys"'],
    ['contains null', 'null', 'has no "keys"'],
    ['is no object', '["keys"]', 'has no "keys"'],
    ['may be written by other users', '{"keys":[{}]}', 'can be written by other users (run chmod go-w on it)', 0o666],
  ])('fails the start if the file %s', async (_what, text, why, mode = 0o600) => {
    const file = join(dataDir, 'keys.json');
    if (text !== undefined) await writeFile(file, text);
    if (text !== undefined) await chmod(file, mode);
    const source = { kind: 'jwks-file', issuer: 'https://login.example', file } as const;
    const tokens: TokenConfig = { audience: 'banking-api', type: 'at+jwt', source };

    const work = TokenVerifier.open({ tokens, dataDir });

    await expect(work).rejects.toMatchObject({ mistakes: [`JWKS_FILE ${file} ${why}.`] });
  });
});

describe('TokenVerifier with an unreachable issuer', () => {
  const issuer = 'http://127.0.0.1:1';
  const header = Buffer.from('{"alg":"ES256","kid":"a","typ":"at+jwt"}').toString('base64url');
  const token = `${header}.e30.${Buffer.alloc(64).toString('base64url')}`;

  it.each([
    [
      'found by discovery',
      { kind: 'discovery', issuer },
      /^the discovery document of http:\/\/127\.0\.0\.1:1 cannot be read: .+\. Check OIDC_ISSUER and the network, or /,
    ],
    [
      'named by a URL',
      { kind: 'jwks-url', issuer, url: `${issuer}/keys` },
      /^the keys of http:\/\/127\.0\.0\.1:1 cannot be fetched: .+\. Check JWKS_URL, or .+, or set JWKS_FILE$/,
    ],
  ] as const)('logs the cause and the action if the keys are %s, and tells the caller neither', async (...row) => {
    const [, source, why] = row;
    const reports: KeyReport[] = [];
    const verifier = await TokenVerifier.open({
      tokens: { audience: 'a', type: 'at+jwt', source },
      dataDir: '',
      report: (report) => reports.push(report),
    });

    const refusal = await verifier.subjectOf(token).then(
      () => undefined,
      (error: Refusal) => error,
    );

    expect(refusal).toMatchObject({ reason: 'unavailable' });
    expect(refusal?.message).toBe('The identity provider cannot be reached.');
    expect(refusal?.cause).toBeUndefined();
    expect(reports).toEqual([{ why: expect.stringMatching(why), usedForS: 0 }]);
  });

  it.each(['HS256', 'HS512', 'none', 'RS1'])('refuses the algorithm %s without a request for keys', async (alg) => {
    const forged = `${Buffer.from(JSON.stringify({ alg, kid: 'a', typ: 'at+jwt' })).toString('base64url')}.e30.AAAA`;
    const source = { kind: 'jwks-url', issuer, url: `${issuer}/keys` } as const;
    const verifier = await TokenVerifier.open({ tokens: { audience: 'a', type: 'at+jwt', source }, dataDir: '' });

    // A request for keys would fail as `unavailable`.
    await expect(verifier.subjectOf(forged)).rejects.toBeInstanceOf(CredentialError);
  });
});
