import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyRequest } from 'fastify';
import { bearerToken } from '../credentials.js';
import { CredentialError, TokenVerifier } from '../token-verifier.js';

const ISSUER = 'https://login.example';
const AUDIENCE = 'banking-api';
const TYPE = 'at+jwt';
const KEY_ID = 'a';
const CLOCK_TOLERANCE_S = 30;

/** Signs as the identity provider. The key is new in each process. */
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

/**
 * An input is a list of header lines as JSON; another text is one line. A line is a text, or a token that this target signs: numbers in
 * `times` are seconds from now.
 */
interface SignedLine {
  readonly scheme?: unknown;
  readonly header?: unknown;
  readonly claims?: unknown;
  readonly times?: unknown;
  readonly tail?: unknown;
}

const base64url = (text: string) => Buffer.from(text).toString('base64url');
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function claimsOf({ claims, times }: SignedLine): unknown {
  if (!isRecord(times) || !isRecord(claims)) return claims;
  const now = Math.floor(Date.now() / 1000);
  const entries = Object.entries(times).map(([name, offset]) => [
    name,
    typeof offset === 'number' ? now + offset : offset,
  ]);
  return { ...claims, ...(Object.fromEntries(entries) as object) };
}

function textOf(line: unknown): string {
  if (!isRecord(line)) return typeof line === 'string' ? line : String(JSON.stringify(line));
  const { scheme = 'Bearer ', header, tail = '' } = line as SignedLine;
  const signed = `${base64url(JSON.stringify(header) ?? '')}.${base64url(JSON.stringify(claimsOf(line)) ?? '')}`;
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${String(JSON.stringify(scheme)).slice(1, -1)}${signed}.${signature.toString('base64url')}${String(JSON.stringify(tail)).slice(1, -1)}`;
}

function linesIn(input: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(input);
    return Array.isArray(value) ? value : [value];
  } catch {
    return [input];
  }
}

let opened: Promise<TokenVerifier> | undefined;

async function open(): Promise<TokenVerifier> {
  const dataDir = await mkdtemp(join(tmpdir(), 'token-header-'));
  const file = join(dataDir, 'keys.json');
  const key = { ...publicKey.export({ format: 'jwk' }), kid: KEY_ID, alg: 'ES256', use: 'sig' };
  await writeFile(file, JSON.stringify({ keys: [key] }));
  const source = { kind: 'jwks-file', issuer: ISSUER, file } as const;
  return TokenVerifier.open({ tokens: { audience: AUDIENCE, type: TYPE, source }, dataDir }).finally(() =>
    rm(dataDir, { recursive: true, force: true }),
  );
}

async function check(input: string): Promise<'accepted' | 'refused'> {
  const lines = linesIn(input);
  const rawHeaders = lines.flatMap((line) => ['Authorization', textOf(line)]);
  try {
    const token = bearerToken({ raw: { rawHeaders } } as FastifyRequest);
    opened ??= open();
    const { issuer, subject, email } = await (await opened).subjectOf(token);
    checkAccepted(lines, { issuer, subject, email });
    return 'accepted';
  } catch (error) {
    if (error instanceof CredentialError) return 'refused';
    throw error;
  }
}

/** Only one line with a token that this target signed, with all claims, is accepted. */
function checkAccepted([line, ...others]: readonly unknown[], subject: Readonly<Record<string, unknown>>): void {
  if (others.length > 0 || !isRecord(line)) throw new Error('an unsigned token is accepted');
  const { header } = line as SignedLine;
  const claims = claimsOf(line);
  if (!isRecord(header) || !isRecord(claims)) throw new Error('a token without header or claims is accepted');
  const { iss, aud, sub, exp, iat, nbf, email, email_verified: verified } = claims;
  const now = Date.now() / 1000;
  const faults = {
    alg: header['alg'] !== 'ES256',
    typ: !/^(?:application\/)?at\+jwt$/i.test(String(header['typ'])),
    crit: header['crit'] !== undefined,
    iss: iss !== ISSUER || subject['issuer'] !== ISSUER,
    aud: ![aud].flat().includes(AUDIENCE),
    sub: typeof sub !== 'string' || sub === '' || subject['subject'] !== sub,
    exp: !Number.isSafeInteger(exp) || Number(exp) < now - CLOCK_TOLERANCE_S - 1,
    iat: typeof iat !== 'number' || iat > now + CLOCK_TOLERANCE_S + 1,
    nbf: nbf !== undefined && !(typeof nbf === 'number' && nbf <= now + CLOCK_TOLERANCE_S + 1),
    email: subject['email'] !== undefined && (typeof email !== 'string' || verified !== true),
  };
  const found = Object.entries(faults).filter(([, isFault]) => isFault);
  if (found.length > 0) throw new Error(`a token is accepted in spite of ${found.map(([name]) => name).join(', ')}`);
}

const HEADER = { alg: 'ES256', kid: KEY_ID, typ: TYPE };
const CLAIMS = { iss: ISSUER, aud: AUDIENCE, sub: 'ada', email: 'Ada@Example.com', email_verified: true };
const TIMES = { iat: -5, exp: 300 };
const signed = (more: object) => JSON.stringify([{ header: HEADER, claims: CLAIMS, times: TIMES, ...more }]);
const UNSIGNED = `${base64url(JSON.stringify({ ...HEADER, alg: 'none' }))}.${base64url(JSON.stringify(CLAIMS))}.`;

export const target = {
  examples: [
    signed({}),
    signed({ scheme: 'bearer   ' }),
    signed({ times: { iat: -600, exp: -300 } }),
    signed({ claims: { ...CLAIMS, aud: [AUDIENCE, 'b'], sub: '' } }),
    signed({ header: { ...HEADER, crit: ['exp'] } }),
    `Bearer ${UNSIGNED}`,
    'Bearer a.b.c',
    'Basic YTpi',
    '[]',
  ],
  tokens: [
    ...[
      'scheme',
      'header',
      'claims',
      'times',
      'tail',
      'alg',
      'kid',
      'typ',
      'crit',
      'b64',
      'jwk',
      'jku',
      'x5c',
      'cty',
      'zip',
    ],
    ...[
      'iss',
      'aud',
      'sub',
      'exp',
      'iat',
      'nbf',
      'jti',
      'email',
      'email_verified',
      'none',
      'HS256',
      'RS256',
      'ES384',
      'EdDSA',
    ],
    ...[
      'Bearer ',
      'bearer',
      TYPE,
      'application/at+jwt',
      'JWT',
      KEY_ID,
      ISSUER,
      AUDIENCE,
      UNSIGNED,
      'eyJhbGciOiJFUzI1NiJ9',
      '.e30.',
    ],
  ],
  // Node refuses longer headers.
  lengthMax: 16_384,
  check,
};
