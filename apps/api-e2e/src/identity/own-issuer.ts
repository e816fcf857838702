import { createPublicKey } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { forge, newKeyPair, type Change, type Mint } from '../hostile/forge.js';
import { AUDIENCE } from '../service.js';

const KEY_ID = 'the-one-key';

/** An issuer that signs any claims, with a discovery document and a key set. */
export class OwnIssuer {
  /** The number of requests for its keys. */
  keysFetched = 0;
  private readonly key = newKeyPair('RS256').privateKey;

  private constructor(
    private readonly server: Server,
    readonly issuer: string,
  ) {}

  static async start(): Promise<OwnIssuer> {
    const server = createServer();
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const issuer = new OwnIssuer(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on('request', ({ url }, response) => {
      response.setHeader('content-type', 'application/json');
      if (url === '/keys') issuer.keysFetched += 1;
      response.end(
        JSON.stringify(
          url === '/keys' ? issuer.keySet() : { issuer: issuer.issuer, jwks_uri: `${issuer.issuer}/keys` },
        ),
      );
    });
    return issuer;
  }

  /** The key and the claims of a token for a subject. */
  mint(subject: string, claims: Readonly<Record<string, unknown>> = {}): Mint {
    return { issuer: this.issuer, audience: AUDIENCE, subject, claims, alg: 'RS256', kid: KEY_ID, key: this.key };
  }

  token(subject: string, claims: Readonly<Record<string, unknown>> = {}, change: Change = {}): string {
    return forge(this.mint(subject, claims), change);
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((closed) => this.server.close(() => closed()));
  }

  private keySet() {
    const jwk = createPublicKey(this.key).export({ format: 'jwk' });
    return { keys: [{ ...jwk, kid: KEY_ID, alg: 'RS256', use: 'sig' }] };
  }
}
