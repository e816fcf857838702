import { readFileSync } from 'node:fs';
import { sendRequest } from '../responses.js';
import { CANARY, secretsIn } from '../log-lines.js';
import { ADA, serviceOfTheRun } from '../service.js';
import { idOf } from '../world.js';

const service = serviceOfTheRun();

/** The lines of a request, once the service has written them. */
async function linesOf(requestId: string): Promise<Record<string, unknown>[]> {
  const lines = () =>
    readFileSync(service.logFile, 'utf8')
      .split('\n')
      .filter((line) => line.includes(requestId))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  while (!lines().some(({ msg }) => msg === 'request')) await sendRequest(service, '/health/live');
  return lines();
}

describe('log of the service', () => {
  it('logs a read with user, workspace, duration and the path template', async () => {
    const workspace = idOf(service.world, 'workspaces', 'Northwind Trading');
    const transfer = idOf(service.world, 'transfers', 'international');
    const requestId = 'log-of-a-transfer';

    await sendRequest(service, `/transfers/${transfer}?q=${CANARY}`, {
      as: ADA,
      workspace,
      headers: { 'x-request-id': requestId },
    });

    expect(await linesOf(requestId)).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        requestId,
        method: 'GET',
        route: '/transfers/:transferId',
        status: 200,
        ms: expect.any(Number),
        userId: idOf(service.world, 'users', ADA),
        workspaceId: workspace,
        msg: 'request',
      },
    ]);
  });

  it('logs the reason of a refused credential without the credential', async () => {
    const requestId = 'log-of-a-refusal';

    await sendRequest(service, '/apps', {
      headers: { 'x-request-id': requestId, authorization: `Bearer ${CANARY}.${CANARY}.x` },
    });

    const lines = await linesOf(requestId);
    expect(lines.find(({ msg }) => msg === 'request')).toMatchObject({ status: 401, why: expect.any(String) });
    expect(JSON.stringify(lines)).not.toContain(CANARY);
  });

  it('logs no secret from any part of a request', async () => {
    const token = await service.tokenOf(ADA);
    const headers = {
      'x-request-id': `${CANARY} x`,
      cookie: `a=${CANARY}`,
      'user-agent': CANARY,
      referer: `http://${CANARY}.example/`,
    };
    for (const path of [
      `/apps?token=${token}`,
      `/transfers/${CANARY}`,
      `/apps/${ADA}/users`,
      `/${CANARY}`,
      `/transfers/NW0000000001`,
    ]) {
      await sendRequest(service, path, { as: ADA, headers });
    }
    const requestId = 'log-after-secrets';
    await sendRequest(service, '/apps', { headers: { 'x-request-id': requestId } });
    await linesOf(requestId);

    expect(secretsIn(readFileSync(service.logFile, 'utf8'))).toEqual([]);
  });

  it('detects a secret in a log line', () => {
    const lines = [
      '{"msg":"eyJhbGciOiJFUzI1NiJ9.e30.x"}',
      '{"code":"NW0000000012"}',
      '{"who":"ada@northwind.example"}',
      `{"url":"/apps?x=${CANARY}"}`,
    ];

    expect(lines.filter((line) => secretsIn(line).length > 0)).toEqual(lines);
    expect(secretsIn('A token: npm run -s token -- ada@northwind.example')).toEqual([]);
  });
});
