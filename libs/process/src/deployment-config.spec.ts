import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolve } from 'node:path';
import { type DeploymentConfig, readDeployment } from './deployment-config.js';
import { type Environment, readerOf } from './environment-reader.js';

const DATABASE_URL = 'postgres://app@127.0.0.1/banking?sslmode=disable';

function read(
  environment: Environment,
  isGateway = false,
): DeploymentConfig & { readonly mistakes: readonly string[] } {
  const reader = readerOf(environment);
  return { ...readDeployment(reader, { isGateway }), mistakes: reader.mistakes };
}

describe('readDeployment', () => {
  it('defaults to an embedded sandbox with demo data', () => {
    expect(read({})).toEqual({
      dataDir: resolve('.data'),
      databaseUrl: undefined,
      ownerUrl: undefined,
      poolSize: 8,
      isPooled: false,
      nameStatements: true,
      eventsKeptDays: 30,
      personalData: { paymentsKeptDays: 3_650, recipientsKeptDays: 3_650, payersKeptDays: 3_650 },
      demo: true,
      isSandbox: true,
      reference: undefined,
      mistakes: [],
    });
  });

  it.each(['DATABASE_OWNER_URL', 'DATABASE_REPLICA_URL'])('reports %s without DATABASE_URL', (name) => {
    expect(read({ [name]: DATABASE_URL }).mistakes).toEqual([
      expect.stringMatching(new RegExp(`^${name} is set without DATABASE_URL\\.`)),
    ]);
  });

  it('reads the URL of a replica by the rules for DATABASE_URL', () => {
    const replica = (host: string) =>
      read({ DATABASE_URL, SANDBOX: 'on', DATABASE_REPLICA_URL: `postgres://app:secret@${host}/banking` });

    expect(replica('replica.example')).toMatchObject({
      replicaUrl: 'postgres://app:secret@replica.example/banking?sslmode=verify-full',
      mistakes: [],
    });
    expect(replica('replica.example:5432/x?sslmode=disable#').mistakes).toEqual([
      expect.stringMatching(/^DATABASE_REPLICA_URL names another host with sslmode=disable/),
    ]);
  });

  it.each([
    [{}, { isPooled: false, nameStatements: true }],
    [{ DATABASE_NAMED_STATEMENTS: 'off' }, { isPooled: false, nameStatements: false }],
    [{ DATABASE_POOLER: 'transaction' }, { isPooled: true, nameStatements: false }],
    [
      { DATABASE_POOLER: 'transaction', DATABASE_NAMED_STATEMENTS: 'on' },
      { isPooled: true, nameStatements: true },
    ],
    [{ DATABASE_POOLER: 'none' }, { isPooled: false, nameStatements: true }],
  ])('reads %j as %j', (environment, expected) => {
    expect(read({ DATABASE_URL, SANDBOX: 'on', ...environment } as Environment)).toMatchObject({
      ...expected,
      mistakes: [],
    });
  });

  it('reports another mode of a pooler, and one without DATABASE_URL', () => {
    expect(read({ DATABASE_POOLER: 'session', DATABASE_URL, SANDBOX: 'on' }).mistakes).toEqual([
      'DATABASE_POOLER is "session". Set one of: none, transaction.',
    ]);
    expect(read({ DATABASE_POOLER: 'transaction' }).mistakes).toEqual([
      expect.stringMatching(/^DATABASE_POOLER is set without DATABASE_URL\./),
    ]);
  });
});

describe('REFERENCE_FILE', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'banking-reference-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const file = () => {
    const path = join(folder, 'reference.yaml');
    writeFileSync(path, 'purposes: []\n');
    return path;
  };

  it('is read as a whole, and has no demo data beside it', () => {
    expect(read({ REFERENCE_FILE: file() })).toMatchObject({ reference: 'purposes: []\n', demo: false, mistakes: [] });
    expect(read({ REFERENCE_FILE: file(), DEMO_DATA: 'on' }).mistakes).toEqual([
      expect.stringMatching(/^DEMO_DATA is on and REFERENCE_FILE is set\./),
    ]);
  });

  it('is a mistake if it cannot be read, or if others can write it', () => {
    const open = file();
    chmodSync(open, 0o666);

    expect(read({ REFERENCE_FILE: `${open}.none` }).mistakes).toEqual([
      expect.stringMatching(/^REFERENCE_FILE cannot be read \(ENOENT\)/),
    ]);
    expect(read({ REFERENCE_FILE: open }).mistakes).toEqual([
      expect.stringMatching(/^REFERENCE_FILE can be written by other users/),
    ]);
  });
});

describe('SANDBOX', () => {
  it.each([
    [{}, { isSandbox: true, demo: true }],
    [{ OIDC_ISSUER: 'https://login.example' }, { isSandbox: true, demo: true }],
    [{ SANDBOX: 'on' }, { isSandbox: true, demo: true }],
    [{ SANDBOX: 'off' }, { isSandbox: false, demo: false }],
    [
      { SANDBOX: 'on', DATABASE_URL },
      { isSandbox: true, demo: false },
    ],
    [
      { SANDBOX: 'on', DATABASE_URL, DEMO_DATA: 'on' },
      { isSandbox: true, demo: true },
    ],
    [
      { SANDBOX: 'off', DATABASE_URL },
      { isSandbox: false, demo: false },
    ],
    [
      { SANDBOX: 'off', DATABASE_URL, DEMO_DATA: 'off' },
      { isSandbox: false, demo: false },
    ],
  ])('reads %j as %j', (environment, expected) => {
    expect(read(environment as Environment)).toMatchObject({ ...expected, mistakes: [] });
  });

  it('is required with DATABASE_URL', () => {
    expect(read({ DATABASE_URL }).mistakes).toEqual([
      'SANDBOX is not set. With DATABASE_URL, set SANDBOX=on for a database of demo money or SANDBOX=off for real money.',
    ]);
  });

  it.each([
    { SANDBOX: 'off', DEMO_DATA: 'on' },
    { SANDBOX: 'off', DEMO_DATA: 'on', DATABASE_URL },
  ])('excludes DEMO_DATA=on when it is off (%j)', (environment) => {
    expect(read(environment).mistakes).toEqual([expect.stringMatching(/^DEMO_DATA is on and SANDBOX is off\./)]);
  });

  it.each([
    [{}, true],
    [{ OIDC_ISSUER: 'https://login.example' }, false],
    [{ OIDC_ISSUER: 'https://login.example', SANDBOX: 'on' }, true],
  ])('reads the environment %j of a gateway as %p', (environment, isSandbox) => {
    expect(read(environment as Environment, true)).toMatchObject({ isSandbox, demo: false, mistakes: [] });
  });
});
