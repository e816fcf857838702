import { offlineDocument } from '../documented/read-document.js';
import { readFileSync } from 'node:fs';
import { testOrProve, until } from '@banking/postgres/testing';
import { routesOf } from '../documented/document.js';
import { bodySchemaOf } from '../documented/inputs.js';
import { sendRequest } from '../responses.js';
import { CANARY, secretsIn } from '../log-lines.js';
import { ADA, idOf, serviceOfTheRun } from '../service.js';

const service = serviceOfTheRun();

/** The lines of a request, once the service has written them. */
async function linesOf(requestId: string): Promise<Record<string, unknown>[]> {
  const lines = () =>
    readFileSync(service.logFile, 'utf8')
      .split('\n')
      .filter((line) => line.includes(requestId))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return until(lines, (found) => found.some(({ msg }) => msg === 'request'));
}

/** Requests of each operation with the canary in path, query and body. */
function* canaryRequests(): Generator<{ method: string; path: string; body?: string }> {
  const document = offlineDocument();
  const query = `?${CANARY}=${CANARY}&cursor=${CANARY}`;
  for (const route of routesOf(document)) {
    const { method } = route;
    for (const id of [CANARY, '9007199254740990']) {
      const path = route.path.replace(/\{\w+\}/g, id);
      if (route.operation.requestBody === undefined) {
        yield { method, path: path + query };
        continue;
      }
      const fields = Object.keys(bodySchemaOf(document, route).properties ?? {});
      const values = Object.fromEntries([...fields, ...(id === CANARY ? [CANARY] : [])].map((key) => [key, CANARY]));
      yield { method, path, body: JSON.stringify(values) };
      yield { method, path: path + query, body: `{"${CANARY}": "${CANARY}` };
    }
  }
}

describe('log of the service', () => {
  it('logs a read with user, workspace, duration and the path template', async () => {
    const workspace = idOf(service.world, 'workspaces', 'Northwind Trading');
    const transfer = idOf(service.world, 'transfers', 'international');
    const requestId = 'log-of-a-transfer';

    await sendRequest(service, `/transfers/${transfer}`, {
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
        operation: 'getTransfer',
        ms: expect.any(Number),
        userId: idOf(service.world, 'users', ADA),
        workspaceId: workspace,
        resourceIds: { transferId: transfer },
        sourceAddress: '127.0.0.1',
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
    expect(lines.find(({ msg }) => msg === 'request')).toMatchObject({ status: 401, why: 'malformed' });
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

  it('logs nothing that a caller writes, of any operation, with and without a valid token', async () => {
    const workspace = idOf(service.world, 'workspaces', 'Northwind Trading');
    const encoded = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');
    const header = { alg: 'ES256', typ: 'at+jwt', kid: CANARY };
    const forged = [
      { ...header, crit: [CANARY], [CANARY]: CANARY },
      { ...header, crit: CANARY },
      { ...header, alg: CANARY },
      { ...header, typ: CANARY },
      header,
    ].map((part) => `${encoded(part)}.${encoded({ iss: CANARY, sub: CANARY })}.${encoded(CANARY)}`);
    const valid = await service.tokenOf(ADA);
    const invalid = [undefined, ...forged];
    const unexpected: string[] = [];
    for (const [index, { method, path, body }] of [...canaryRequests()].entries()) {
      // A request without a valid token is refused before its operation matters.
      for (const token of [valid, ...testOrProve([invalid[index % invalid.length]], invalid)]) {
        const response = await fetch(`${service.url}${path}`, {
          method,
          headers: {
            ...(token !== undefined && { authorization: `Bearer ${token}` }),
            'workspace-id': String(workspace),
            'x-request-id': `${CANARY} x`,
            'idempotency-key': CANARY,
            'user-agent': CANARY,
            'if-none-match': CANARY,
            'x-forwarded-for': CANARY,
            ...(body !== undefined && { 'content-type': 'application/json' }),
          },
          ...(body !== undefined && { body }),
        });
        await response.text();
        if (response.status >= 500) unexpected.push(`${method} ${path}: ${response.status}`);
      }
    }
    const requestId = 'log-after-canaries';
    await sendRequest(service, '/apps', { headers: { 'x-request-id': requestId } });
    await linesOf(requestId);

    expect(unexpected).toEqual([]);
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
