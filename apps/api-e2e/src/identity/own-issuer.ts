import { type ChildProcess, fork } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Change, forge, type Mint, newKeyPair } from '../hostile/forge.js';
import { AUDIENCE, type Service } from '../service.js';
import { bareEnvironment } from '../config.js';

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

/** The service, called with tokens of another issuer: `as` is the token. */
export const withTokens = (service: Service): Service => ({ ...service, tokenOf: (token) => Promise.resolve(token) });

const PROGRAM = join(__dirname, '..', '..', 'openid-provider.mjs');

/** A real OpenID provider on this machine, which can stop and restart at the same address. */
export class OpenIdProvider {
  private child: ChildProcess | undefined;
  private fetched = 0;

  private constructor(readonly issuer: string) {}

  static async start(): Promise<OpenIdProvider> {
    const { child, issuer } = await launch(0);
    const provider = new OpenIdProvider(issuer);
    provider.watch(child);
    return provider;
  }

  /** The number of requests for its keys, over all restarts. */
  get keysFetched(): number {
    return this.fetched;
  }

  /** An access token of a service account for a resource. */
  async token(clientId: string, resource = 'urn:banking'): Promise<string> {
    const response = await fetch(`${this.issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientId}-secret`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource }),
    });
    const body = (await response.json()) as { access_token?: string };
    if (body.access_token === undefined) throw new Error(`no token: ${JSON.stringify(body)}`);
    return body.access_token;
  }

  async stop(): Promise<void> {
    const child = this.child;
    if (!child) return;
    this.child = undefined;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
  }

  async restart(): Promise<void> {
    const { child } = await launch(Number(new URL(this.issuer).port));
    this.watch(child);
  }

  private watch(child: ChildProcess): void {
    this.child = child;
    child.on('message', (message: { keysFetched?: number }) => {
      if (message.keysFetched !== undefined) this.fetched += 1;
    });
  }
}

function launch(port: number): Promise<{ child: ChildProcess; issuer: string }> {
  const child = fork(PROGRAM, [String(port)], { env: bareEnvironment(), silent: true, execArgv: [] });
  let complaints = '';
  child.stderr?.on('data', (text: Buffer) => (complaints += text.toString()));
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the OpenID provider ended with ${code}:\n${complaints}`)));
    child.once('message', (message: { issuer: string }) => resolve({ child, issuer: message.issuer }));
  });
}
