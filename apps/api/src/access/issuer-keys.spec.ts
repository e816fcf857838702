import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createLocalJWKSet, errors } from 'jose';
import { IssuerKeys, type KeyReport } from './issuer-keys.js';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const TOKEN = { payload: '', signature: '' };

describe('IssuerKeys', () => {
  let nowMs: number;
  let fetches: number;
  let reports: KeyReport[];
  /** What the issuer responds. */
  let respond: () => Promise<{ keys: object[] }>;
  let keys: IssuerKeys;

  const has = (...ids: string[]) =>
    Promise.resolve({ keys: ids.map((kid) => ({ ...publicKey.export({ format: 'jwk' }), kid })) });
  const fail = () => Promise.reject(new Error('down'));
  /** Whether a key is found, or why not. */
  const find = async (kid: string) => {
    try {
      await keys.keyOf({ alg: 'ES256', kid }, TOKEN);
      return 'found';
    } catch (error) {
      return error instanceof errors.JWKSNoMatchingKey ? 'unknown' : (error as { reason: string }).reason;
    }
  };

  beforeEach(() => {
    nowMs = 0;
    fetches = 0;
    reports = [];
    respond = () => has('a');
    keys = new IssuerKeys(
      async () => {
        fetches += 1;
        return createLocalJWKSet(await respond());
      },
      (report) => reports.push(report),
      () => nowMs,
    );
  });

  it('are fetched once for many tokens, and again after ten minutes', async () => {
    expect(await Promise.all([find('a'), find('a')])).toEqual(['found', 'found']);
    nowMs = 10 * MINUTE_MS - 1;
    await find('a');
    expect(fetches).toBe(1);

    nowMs += 1;
    respond = () => has('b');
    expect([await find('b'), await find('a'), fetches]).toEqual(['found', 'unknown', 2]);
  });

  it('are fetched for unknown key ids once in thirty seconds', async () => {
    await find('a');
    nowMs = 30 * SECOND_MS - 1;
    expect([await find('b'), fetches]).toEqual(['unknown', 1]);

    nowMs += 1;
    const forged = await Promise.all(Array.from({ length: 300 }, () => find(randomUUID())));
    expect([new Set(forged), await find('c'), fetches]).toEqual([new Set(['unknown']), 'unknown', 2]);

    nowMs += 30 * SECOND_MS;
    respond = () => has('a', 'b');
    expect([await find('b'), fetches]).toEqual(['found', 3]);
  });

  it('are used for twelve hours while fetches fail, and fetched once in thirty seconds', async () => {
    await find('a');
    respond = fail;
    const outcomes = { known: new Set<string>(), forged: new Set<string>() };
    for (let count = 0; count < 300; count += 1) {
      nowMs += 4 * SECOND_MS;
      outcomes.known.add(await find('a'));
      outcomes.forged.add(await find(randomUUID()));
    }

    expect(outcomes).toEqual({ known: new Set(['found']), forged: new Set(['unknown', 'unavailable']) });
    // Of 20 minutes, the first tries begin when thirty seconds are over.
    expect([fetches, reports.length]).toEqual([38, 37]);
    expect(reports[0]).toEqual({ why: 'down', usedForS: 12 * 3_600 - 32 });

    nowMs = 12 * HOUR_MS - 1;
    expect(await find('a')).toBe('found');
    nowMs += 1;
    expect(await find('a')).toBe('unavailable');
    respond = () => has('a');
    nowMs += 30 * SECOND_MS;
    expect([await find('a'), reports.at(-1)]).toEqual(['found', {}]);
  });

  it('are found without waiting for an issuer that is silent after a failure', async () => {
    await find('a');
    respond = fail;
    nowMs = 10 * MINUTE_MS;
    await find('a');
    respond = () => new Promise(() => undefined);
    nowMs += MINUTE_MS;

    expect([await find('a'), await find('a'), fetches]).toEqual(['found', 'found', 3]);
  });

  it('are unavailable before the first fetch that succeeds, which is tried again after five seconds', async () => {
    respond = fail;
    expect([await find('a'), await find('a'), fetches]).toEqual(['unavailable', 'unavailable', 1]);
    nowMs = 5 * SECOND_MS;
    respond = () => has('a');

    expect([await find('a'), fetches]).toEqual(['found', 2]);
  });
});
