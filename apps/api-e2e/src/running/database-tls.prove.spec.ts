import { setTimeout as sleep } from 'node:timers/promises';
import { TlsServer } from '@banking/embedded-postgres/testing';
import { newDataDir, refusedStart, RunningService, type TestDataDir } from '../running-service.js';

const WAIT_MS = 30_000;

describe('the service, connected over TLS with a private CA and a client certificate', () => {
  let server: TlsServer;
  let folder: TestDataDir;
  let service: RunningService;

  const login = TlsServer.CERTIFICATE_LOGIN;
  const files = `sslcert=${TlsServer.file('client.crt')}&sslkey=${TlsServer.file('client.key')}`;
  const environmentWith = (ca: 'ca.crt' | 'other-ca.crt') => ({
    // The first host is down. The server shows a certificate for the second one.
    DATABASE_URL: server
      .url('localhost', `target_session_attrs=read-write&sslrootcert=${TlsServer.file(ca)}&${files}`, login)
      .replace('@', '@127.0.0.1:1,'),
    ...{ SANDBOX: 'on', DEMO_DATA: 'off' },
  });

  beforeAll(async () => {
    folder = await newDataDir();
    server = await TlsServer.start();
    await server.show('localhost.crt');
    service = await RunningService.start({ dataDir: folder.path, environment: environmentWith('ca.crt') });
  }, 180_000);
  afterAll(async () => {
    await service?.stop();
    await server?.stop();
    await folder?.remove();
  });

  /** Waits until the service reports this status. */
  async function readiness(status: number): Promise<void> {
    const until = Date.now() + WAIT_MS;
    for (;;) {
      const response = await fetch(`${service.url}/health/ready`);
      if (response.status === status) return;
      if (Date.now() > until) throw new Error(`/health/ready is ${response.status}: ${await response.text()}`);
      await sleep(100);
    }
  }

  it('has no connection without TLS', async () => {
    await readiness(200);

    const { tls, plain } = await server.connections();
    expect([tls > 0, plain]).toEqual([true, 0]);
  });

  it('is not ready while the server shows a certificate of another CA, and serves again afterwards without a restart', async () => {
    await server.show('expired.crt');
    await server.disconnect();
    await readiness(503);

    await server.show('localhost.crt');

    await readiness(200);
  });

  it('does not start with another CA, and says what to do', async () => {
    const { code, stderr } = await refusedStart({ dataDir: folder.path, environment: environmentWith('other-ca.crt') });

    expect(code).toBe(1);
    expect(stderr).toMatch(
      /The database at 127\.0\.0\.1:1, localhost:\d+ did not prove who it is: .+ set sslrootcert /,
    );
  });
});
