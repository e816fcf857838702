import { createPrivateKey, type JsonWebKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LOCAL_ISSUER } from '@banking/process/local-issuer';
import { testOrProve } from '@banking/postgres/testing';
import { sendRequest } from '../responses.js';
import { ADA, AUDIENCE, serviceOfTheRun } from '../service.js';
import { forge, type Mint, refusesForgeries } from './forge.js';

const service = serviceOfTheRun();

describe('service that trusts the key in its DATA_DIR', () => {
  refusesForgeries(
    'the local issuer',
    async () => ({ service, mint: await localMint() }),
    testOrProve('some', 'every'),
  );

  it('refuses a token with an unverified e-mail', async () => {
    const mint = await localMint();

    for (const verified of [false, undefined, 'true', 1]) {
      const token = forge(mint, { claims: { sub: 'unverified', email: ADA, email_verified: verified } });
      const response = await sendRequest({ ...service, tokenOf: async () => token }, '/apps', { as: ADA });
      expect(response.status).toBe(401);
    }
  });
});

/** The key of the local issuer: a process that can read DATA_DIR can sign for any user. */
async function localMint(): Promise<Mint> {
  const jwk = JSON.parse(await readFile(join(service.dataDir, 'signing-key.json'), 'utf8')) as JsonWebKey & {
    kid: string;
  };
  return {
    issuer: LOCAL_ISSUER,
    audience: AUDIENCE,
    subject: ADA,
    claims: { email: ADA, email_verified: true },
    alg: 'ES256',
    kid: jwk.kid,
    key: createPrivateKey({ key: jwk, format: 'jwk' }),
  };
}
