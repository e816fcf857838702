import { World } from '../testing/world.js';

const world = new World();

beforeAll(() => world.open());
afterAll(() => world.close());

describe('Given a story that cannot be played', () => {
  it.each(['ftp://127.0.0.1', '127.0.0.1:3000'])(
    'When the address is %s, Then it says how one is written',
    async (url) => {
      const { exitCode, stdout, stderr } = await world.run(['story', '--url', url]);

      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toContain('such as http://127.0.0.1:3000');
    },
  );

  it('When there is no demo world, Then it says how to get one', async () => {
    const { exitCode, stderr } = await world.run(['story'], { DEMO_DATA: 'off' });

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^There is no demo world here\. Set DEMO_DATA=on .+\n$/);
  });

  it('When tokens come from elsewhere, Then it says so', async () => {
    const { exitCode, stderr } = await world.run(['story'], { OIDC_ISSUER: 'https://login.example' });

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/tokens come from https:\/\/login\.example/);
  });

  it('When nobody answers, Then it says how to start the service', async () => {
    // Nothing is served at this port, which no browser and no fetch is stopped from asking.
    const { exitCode, stderr } = await world.run(['story', '--url', 'http://127.0.0.1:2']);

    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      'Nobody answers at http://127.0.0.1:2. Start the service (npm start), or name it with --url.\n',
    );
  });
});
