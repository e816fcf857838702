import { AttachedSession } from './session.js';
import { queryValue, World } from './testing/world.js';

const newestSession = `select pid from pg_stat_activity where application_name = 'embedded server' order by backend_start desc limit 1`;

const world = new World();
afterEach(() => world.end());
afterAll(() => world.removeTemplate());

describe('a session that leaves', () => {
  it('is not the last one when the server ends between its question and the answer', async () => {
    const dataDir = await world.stoppedDataDir();
    const { connection, detach } = await world.attach(dataDir);
    const session = (await AttachedSession.open(connection)) as AttachedSession;
    const pid = Number(await queryValue(connection.host, newestSession));

    // The backend finds the question and the order to end at once.
    process.kill(pid, 'SIGSTOP');
    const left = session.leave();
    await new Promise((sent) => setImmediate(sent));
    process.kill(pid, 'SIGTERM');
    process.kill(pid, 'SIGCONT');

    expect(await left).toBe(false);
    await session.close();
    await detach();
  });
});
