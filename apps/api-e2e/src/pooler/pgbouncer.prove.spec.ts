import { bankingWith } from '../running-service.js';
import { isCi } from '../config.js';
import { contract } from '../contract/contract.js';
import { bugsIn, secretsIn } from '../log-lines.js';
import { startedLater } from '../service.js';
import { pgBouncerPath, PooledService } from './pgbouncer.js';

const isMissing = pgBouncerPath() === undefined && !isCi();
// The name of a skipped test says why it is skipped.
const note = isMissing ? ', skipped: install pgbouncer' : '';

describe.each([
  // Fewer connections than the service has: several of its connections share one of the server.
  { mode: 'transaction', poolSize: 3 },
  // The service and one command.
  { mode: 'session', poolSize: 12 },
] as const)(`PgBouncer in $mode mode${note}`, ({ mode, poolSize }) => {
  if (isMissing) return it.skip('serves the contract suite', () => undefined);
  let service: PooledService;
  beforeAll(async () => {
    service = await PooledService.start({ mode, poolSize });
  });
  afterAll(() => service?.stop());

  contract('the service behind it', () => startedLater(() => service));

  it('has no more connections to the server than its pool', async () => {
    const connections = await service.serverConnections();

    expect(connections).toBeGreaterThan(0);
    expect(connections).toBeLessThanOrEqual(poolSize);
  });

  it('leaves neither a secret nor an unhandled error in the log of the service', () => {
    expect([...secretsIn(service.running.log), ...bugsIn(service.running.log)]).toEqual([]);
  });

  it('serves commands that read or change the queue', async () => {
    expect(JSON.parse(await bankingWith(service.environment, 'work', 'list', '--json'))).toBeDefined();
  });

  const refusal = async (...args: string[]) =>
    bankingWith(service.environment, ...args).then(
      () => undefined,
      (error: { code?: number; stderr?: string }) => ({ code: error.code, stderr: error.stderr }),
    );

  if (mode === 'transaction') {
    it.each([
      [
        'verify',
        /^This command reads whole workspaces.+Set DATABASE_URL to the address of the PostgreSQL server itself/,
      ],
      ['export --workspace 1', /^This command reads whole workspaces/],
      ['work reconcile', /^This command reads whole workspaces/],
      ['app list', /^Users, workspaces and reference data are changed as another role\..+Set DATABASE_OWNER_URL/],
      ['migrate', /^Migrations hold a lock of their session\..+Set DATABASE_OWNER_URL/],
    ])('refuses banking %s, which needs a connection of its own', async (command, words) => {
      const refused = await refusal(...command.split(' '));

      expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(words) as unknown });
    });
  } else {
    it('serves a command that reads whole workspaces', async () => {
      expect(await refusal('verify')).toBeUndefined();
    });
  }
});
