import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TlsServer } from '@banking/embedded-postgres/testing';
import { reasonOf, until } from '@banking/postgres/testing';
import { readDeployment, readerOf } from '@banking/process';
import { type Deployment, type DeploymentSettings, openDeployment } from './open-deployment.js';

// An environment with DATABASE_URL may have no embedded server.
const describeEmbedded = process.env['DATABASE_URL'] ? describe.skip : describe;

const FIRST = 'first password';
const SECOND = 'second password';

describeEmbedded('a login whose password is in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'database-password-'));
  const file = join(folder, 'password');
  let server: TlsServer;

  beforeAll(async () => {
    server = await TlsServer.start();
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });
  beforeEach(async () => {
    await server.changePassword(FIRST);
    writeFileSync(file, `${FIRST}\n`);
  });

  const opened: Deployment[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(({ close }) => close()));
  });

  const login = () => {
    const url = new URL(server.url('127.0.0.1', 'sslmode=disable'));
    url.password = '';
    return url.href;
  };
  const read = (environment: Readonly<Record<string, string>>) => {
    const reader = readerOf({ DATABASE_URL: login(), ...environment, SANDBOX: 'on', DATA_DIR: folder });
    const settings = readDeployment(reader);
    expect(reader.mistakes).toEqual([]);
    return settings;
  };
  async function openWith(settings: DeploymentSettings): Promise<Deployment> {
    const deployment = await openDeployment(settings);
    opened.push(deployment);
    return deployment;
  }
  const open = (password: Readonly<Record<string, string>> = { DATABASE_PASSWORD_FILE: file }) =>
    openWith(read(password));

  /** The database of a cell, with the login that `CELLS_FILE` gives it. */
  function openCell(): Promise<Deployment> {
    const cells = join(folder, 'cells.json');
    writeFileSync(cells, JSON.stringify({ b: { url: login(), passwordFile: file } }));
    const settings = read({ CELLS_FILE: cells });
    return openWith({ ...settings, cells: undefined, databaseUrl: settings.cells![0]!.databaseUrl });
  }

  it.each([
    ['DATABASE_PASSWORD_FILE', () => open()],
    ['passwordFile of a cell', openCell],
  ])('connects again with a new password of %s, without a restart', async (_, opening) => {
    const { database } = await opening();
    await server.changePassword(SECOND);
    await becomes(() => database.ping(), 'The database does not accept the login at the moment.');

    writeFileSync(file, SECOND);

    await becomes(() => database.ping(), undefined);
  });

  it('is unavailable, and recovers, if the file is missing for a moment', async () => {
    const { database } = await open();
    rmSync(file);
    await server.changePassword(FIRST);
    await becomes(() => database.ping(), 'No connection to the database could be had in time.');

    writeFileSync(file, FIRST);

    await becomes(() => database.ping(), undefined);
  });

  it('does not start with a wrong password, and does not repeat it', async () => {
    writeFileSync(file, 'wrong password');

    const sentence = await reasonOf(open());
    expect(sentence).toMatch(/password authentication failed.+Correct the login/);
    expect(sentence).not.toContain('wrong password');
  });

  it('does not start without a password, and says where to put it', async () => {
    expect(await reasonOf(open({}))).toMatch(
      /^The server asks for a password, and none is configured\..+DATABASE_PASSWORD_FILE/,
    );
  });
});

/** Repeats the work until it fails with this message, or succeeds if there is none. Connections that were ended fail first. */
const becomes = (work: () => Promise<void>, message: string | undefined) =>
  until(
    () =>
      work().then(
        () => undefined,
        (failure: unknown) => (failure as Error).message,
      ),
    (found) => found === message,
  );
