import { existsSync } from 'node:fs';
import { newDataDir, refusedStart, RunningService, type TestDataDir } from '../running-service.js';
import { serviceOfTheRun } from '../service.js';

const service = serviceOfTheRun();

/** Messages to an operator are sentences, without a stack or the name of a class. */
const STACK = /^\s+at .+:\d+:\d+|node:internal|\bError:/m;

describe('service start', () => {
  let folder: TestDataDir;

  beforeAll(async () => {
    folder = await newDataDir();
  });

  afterAll(() => folder.remove());

  it('reports all configuration errors at once with their corrections, and changes nothing', async () => {
    const dataDir = `${folder.path}/never-made`;

    const { code, stdout, stderr } = await refusedStart({
      dataDir,
      environment: {
        PORT: '70000',
        LOG_FORMAT: 'xml',
        LOG_LEVEL: 'loud',
        DOCS: 'maybe',
        DATABASE_OWNER_URL: 'postgres://localhost/x',
        DATABASE_POOL_SIZE: '0',
        CORS_ORIGINS: 'https://app.example/path',
        OIDC_ISSUER: 'http://login.example',
        RATE_LIMIT_PER_SECOND: '-1',
      },
    });

    expect(code).toBe(2);
    for (const name of [
      'PORT',
      'LOG_FORMAT',
      'LOG_LEVEL',
      'DOCS',
      'DATABASE_OWNER_URL',
      'DATABASE_POOL_SIZE',
      'CORS_ORIGINS',
      'OIDC_ISSUER',
      'RATE_LIMIT_PER_SECOND',
    ]) {
      expect(stderr).toMatch(new RegExp(`^ {2}- ${name} .+\\.$`, 'm'));
    }
    expect(stderr).not.toMatch(STACK);
    expect(stdout).toBe('');
    expect(existsSync(dataDir)).toBe(false);
  });

  it('refuses local tokens on a public address and names both alternatives', async () => {
    const { code, stderr } = await refusedStart({ dataDir: folder.path, environment: { HOST: '0.0.0.0' } });

    expect(code).toBe(2);
    expect(stderr).toMatch(/HOST is 0\.0\.0\.0/);
    expect(stderr).toMatch(/OIDC_ISSUER/);
    expect(stderr).toMatch(/LOCAL_TOKENS=on/);
  });

  it('reports a port in use in a sentence and leaves the database of the other service running', async () => {
    const { port } = new URL(service.url);

    const { code, stderr } = await refusedStart({ dataDir: service.dataDir, environment: { PORT: port } });

    expect([1, 2]).toContain(code);
    expect(stderr).toContain(port);
    expect(stderr).toMatch(/PORT/);
    expect(stderr).not.toMatch(STACK);
    expect((await fetch(`${service.url}/health/ready`)).status).toBe(200);
  });

  it('serves neither the docs page nor the document with DOCS=off', async () => {
    const silent = await RunningService.start({ dataDir: service.dataDir, environment: { DOCS: 'off' } });

    const statuses = await Promise.all(
      ['/docs', '/docs/', '/docs/page.js', '/openapi.json', '/health/ready'].map(
        async (path) => (await fetch(`${silent.url}${path}`)).status,
      ),
    );

    expect(statuses).toEqual([404, 404, 404, 404, 200]);
    await silent.stop();
  });
});
