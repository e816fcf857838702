import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import type { HttpRailConfig } from '../rail-config.js';
import { sandboxAdapter } from '../sandbox-adapter.js';

export const TOKEN = 'a token of specs';

/** A server that a rail calls. */
export interface Served {
  readonly config: HttpRailConfig;
  /** The port, while the server is away too. */
  readonly port: number;
  leave(): Promise<void>;
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

async function serve(name: string, create: () => Server): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), 'adapter-'));
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, `${TOKEN}\n`);
  let server = create();
  const listen = async (at: number) => {
    server.listen(at, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(0);
  const leave = async () => {
    server.closeAllConnections();
    server.close();
    if (server.listening) await once(server, 'close');
  };
  const account = (currency: string) => ({ currency, id: 'DE89370400440532013000', isIban: true });
  return {
    port,
    config: {
      ...{ name, kind: 'http', url: `http://127.0.0.1:${port}`, tokenFile, isTestMode: true },
      accounts: ['EUR', 'USD', 'INR', 'GBP'].map((currency) => ({
        ...account(currency),
        ...{ bic: 'COBADEFFXXX', holder: 'Harbour Ltd' },
      })),
    },
    leave,
    async comeBack() {
      server = create();
      await listen(port);
    },
    async close() {
      await leave();
      rmSync(folder, { recursive: true });
    },
  };
}

/** A server whose responses the spec chooses. */
export const servedBy = (listener: RequestListener, name = 'bank'): Promise<Served> =>
  serve(name, () => createServer(listener));

/** The sandbox network as an adapter, whose events need no time. */
export const sandboxOn = ({ database }: FreshDatabase): Promise<Served> =>
  serve('bank', () => sandboxAdapter({ database, token: TOKEN, pace: 0 }));

/** The sandbox network as an adapter with a database of its own. */
export async function sandboxServed(): Promise<Served & { readonly world: FreshDatabase }> {
  const world = await freshDatabase();
  const served = await sandboxOn(world);
  return {
    ...{ ...served, world },
    close: async () => {
      await served.close();
      await world.close();
    },
  };
}
