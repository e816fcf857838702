import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { bareEnvironment } from '../config.js';

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
