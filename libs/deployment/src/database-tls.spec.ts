import { TlsServer } from '@banking/embedded-postgres/testing';
import { reasonOf } from '@banking/postgres/testing';
import { DeploymentError } from './explain-failure.js';
import { openDeployment } from './open-deployment.js';

// An environment with DATABASE_URL may have no embedded server.
const describeEmbedded = process.env['DATABASE_URL'] ? describe.skip : describe;

describeEmbedded('TLS to a PostgreSQL over TCP', () => {
  let server: TlsServer;

  beforeAll(async () => {
    server = await TlsServer.start();
  });
  afterAll(() => server.stop());

  const open = (databaseUrl: string, ownerUrl?: string) =>
    openDeployment({ databaseUrl, ownerUrl, dataDir: '/nowhere', isSandbox: true });
  const verifiedBy = (ca: 'ca.crt' | 'other-ca.crt' | 'second-ca.crt') =>
    `sslmode=verify-full&sslrootcert=${TlsServer.file(ca)}`;
  const verified = verifiedBy('ca.crt');

  it.each(['localhost', '127.0.0.1'])(
    'protects each connection with a certificate for %s of the configured CA',
    async (host) => {
      await server.show('localhost.crt');

      const deployment = await open(server.url(host, verified), server.url(host, verified));

      const { tls, plain } = await server.connections();
      expect([tls > 0, plain]).toEqual([true, 0]);
      await deployment.close();
    },
  );

  it.each([
    ['other-name.crt', 'ca.crt', /certificate's altnames/],
    ['localhost.crt', undefined, /unable to .+ certificate|self.signed certificate/],
    ['localhost.crt', 'other-ca.crt', /unable to .+ certificate|self.signed certificate/],
    ['expired.crt', 'second-ca.crt', /certificate has expired/],
  ] as const)('refuses %s with CA %s, with the reason and what to do', async (certificate, ca, why) => {
    const query = ca === undefined ? 'sslmode=verify-full' : verifiedBy(ca);
    await server.show(certificate);

    for (const urls of [
      [server.url('localhost', query)],
      [server.url('localhost', 'sslmode=disable'), server.url('localhost', query)],
    ] as const) {
      const work = open(...(urls as [string]));

      await expect(work).rejects.toBeInstanceOf(DeploymentError);
      const sentence = await reasonOf(work);
      expect(sentence).toMatch(/^The database at localhost:\d+ did not prove who it is: .+ set sslrootcert /);
      expect(sentence).toMatch(why);
      expect(sentence).not.toContain('only-in-tests');
    }
  });

  it('accepts the certificate of another host with sslmode=verify-ca', async () => {
    await server.show('other-name.crt');

    await (await open(server.url('localhost', verified.replace('verify-full', 'verify-ca')))).close();
  });

  it('accepts a login with a client certificate, and refuses it without one', async () => {
    await server.show('localhost.crt');
    await (await open(server.url('localhost', verified))).close();
    const files = `sslcert=${TlsServer.file('client.crt')}&sslkey=${TlsServer.file('client.key')}`;
    const urlWith = (query: string) => server.url('localhost', query, TlsServer.CERTIFICATE_LOGIN);

    await (await open(urlWith(`${verified}&${files}`))).close();

    expect(await reasonOf(open(urlWith(verified)))).toMatch(/requires a valid client certificate/);
  });

  // Only Linux has a second loopback address.
  (process.platform === 'linux' ? it : it.skip)('verifies each of several hosts by its own name', async () => {
    await server.show('localhost.crt');

    await (await open(server.url('127.0.0.2,localhost', verified))).close();

    const sentence = await reasonOf(open(server.url('127.0.0.2,127.0.0.2', verified)));
    expect(sentence).toMatch(/^The database at 127\.0\.0\.2:\d+, 127\.0\.0\.2:\d+ did not prove who it is: /);
    expect(sentence).toMatch(/certificate's altnames/);
  });

  it('refuses a server without TLS, unless TLS is off', async () => {
    await server.show(undefined);

    expect(await reasonOf(open(server.url('localhost', verified)))).toMatch(
      /^The database at localhost:\d+ offers no TLS\. Switch TLS on at the server, or set DATABASE_TLS=off/,
    );
    await (await open(server.url('localhost', 'sslmode=disable'))).close();
  });

  it('follows the URL, not PGSSLMODE', async () => {
    await server.show('localhost.crt');
    process.env['PGSSLMODE'] = 'disable';
    try {
      expect(await reasonOf(open(server.url('localhost', 'sslmode=verify-full')))).toMatch(/did not prove who it is/);
    } finally {
      delete process.env['PGSSLMODE'];
    }
  });
});
