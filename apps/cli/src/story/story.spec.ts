import { World } from '../testing/world.js';

const world = new World();

beforeAll(() => world.openDemo());
afterAll(() => world.close());

describe('banking story', () => {
  it.each(['ftp://127.0.0.1', '127.0.0.1:3000'])('refuses the URL %s with an example', async (url) => {
    const { exitCode, stdout, stderr } = await world.run(['story', '--url', url]);

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('such as http://127.0.0.1:3000');
  });

  it('refuses the URL of a service together with a service of its own', async () => {
    const { exitCode, stdout, stderr } = await world.run(['story', '--cells', '--url', 'http://127.0.0.1:3000']);

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain("option '--cells' cannot be used with option '--url <url>'");
  });

  it('explains how to create missing demo data', async () => {
    const empty = new World();
    const { exitCode, stderr } = await empty.run(['story'], { DEMO_DATA: 'off' });
    await empty.close();

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^This deployment has no demo data\. Set DEMO_DATA=on.+\n$/);
  });

  it('refuses a deployment whose tokens an identity provider issues', async () => {
    const { exitCode, stderr } = await world.run(['story'], { OIDC_ISSUER: 'https://login.example' });

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/https:\/\/login\.example issues the tokens/);
  });

  it('explains how to start a service that is not reachable', async () => {
    // No process listens on this port, which fetch does not block.
    const { exitCode, stderr } = await world.run(['story', '--url', 'http://127.0.0.1:2']);

    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      'No service is reachable at http://127.0.0.1:2. Start it with npm start, or give its URL with --url.\n',
    );
  });
});
