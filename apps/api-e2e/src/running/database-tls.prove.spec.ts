import { TlsServer, until } from '@banking/embedded-postgres/testing';
import { newDataDir, refusedStart, RunningService, type TestDataDir } from '../running-service.js';

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
  });
  afterAll(async () => {
    await service?.stop();
    await server?.stop();
    await folder?.remove();
  });

  /** Waits until the service reports this status. */
  const readiness = (status: number) =>
    until(
      async () => {
        const response = await fetch(`${service.url}/health/ready`);
        return { status: response.status, text: await response.text() };
      },
      (found) => found.status === status,
    );

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
