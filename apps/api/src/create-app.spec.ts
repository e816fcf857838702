import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import { until } from '@banking/postgres/testing';
import { LocalIssuer } from '@banking/process/local-issuer';
import type { Implementation } from './banking.module.js';
import { readConfig } from './config.js';
import { createApp } from './create-app.js';
import { Draining } from './health/readiness.js';
import { DirectoryTurns } from './http/directory-changes.js';

const ADA = { id: 1, grants: [{ workspaceId: 7, roles: ['admin'], appId: 1 }] };
const REQUESTS = 5;

describe('the application', () => {
  let dataDir: string;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'banking-app-'));
  });
  afterEach(() => rm(dataDir, { recursive: true }));

  it('changes the directory for one request of a workspace at a time', async () => {
    let [arrived, running, runningMax] = [0, 0, 0];
    const inviteMember = async () => {
      running += 1;
      runningMax = Math.max(runningMax, running);
      // Those that do not wait for their turn run by then too.
      await until(() => arrived === REQUESTS);
      running -= 1;
      return { resource: { id: 9 }, isReplay: false };
    };
    const implementation = {
      banking: { inviteMember },
      directory: { userOf: async () => ADA },
      watch: (server: FastifyInstance) => server.addHook('preHandler', async () => void (arrived += 1)),
      directoryTurns: new DirectoryTurns(),
      refusals: [],
    } as object as Implementation;
    const config = readConfig({ DATA_DIR: dataDir, DOCS: 'off' }, false);
    const issuer = await LocalIssuer.open(dataDir);
    const app = await createApp({ config, implementation, log: pino({ level: 'silent' }), draining: new Draining() });
    const token = await issuer.sign({ email: 'ada@bank.example', audience: 'banking-api', lifetimeSeconds: 60 });

    const responses = await Promise.all(
      Array.from({ length: REQUESTS }, () =>
        app.inject({
          method: 'POST',
          url: '/members',
          headers: { authorization: `Bearer ${token}`, 'workspace-id': '7' },
          payload: { email: 'bo@bank.example', roles: ['viewer'] },
        }),
      ),
    );

    expect(responses.map(({ statusCode }) => statusCode)).toEqual(Array(REQUESTS).fill(201));
    expect(runningMax).toBe(1);
    await app.close();
  });
});
