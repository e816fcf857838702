import { ask, proveDocumented } from '../answers.js';
import { ADA, EVE, serviceOfTheRun } from '../service.js';
import { idOf } from '../world.js';
import { HARMLESS } from './harmless-requests.js';
import { askRaw, mistakesInError, type RawRequest } from './raw-request.js';
import { HOSTILE, type HostileCase } from './requests.js';

const service = serviceOfTheRun();

describe('Given the running service', () => {
  let words: Readonly<Record<string, string>>;

  beforeAll(async () => {
    words = {
      token: await service.tokenOf(ADA),
      other: await service.tokenOf(EVE),
      workspace: String(idOf(service.world, 'workspaces', 'Northwind Trading')),
      transfer: String(idOf(service.world, 'transfers', 'internal')),
    };
  });

  afterEach(async () => {
    const alive = await ask(service, '/health/live');
    expect(alive.status).toBe(200);
  });

  describe.each(Object.entries(HOSTILE))('and %s', (_, cases) => {
    it.each(cases)('When it gets $what Then it refuses with $status', async (hostile) => {
      const answer = await askRaw(service.url, requestOf(hostile, words));

      expect([answer.status, hostile.reason && reasonIn(answer.body)]).toEqual([hostile.status, hostile.reason]);
      expect(mistakesInError(answer)).toEqual([]);
      if (answer.status === 401) expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      if (answer.status === 405) expect(answer.headers.get('allow')).toBe('GET, HEAD');
      await proveDocumented(service, hostile.method ?? 'GET', fill(hostile.path, words), hostile.status);
    });
  });

  describe('and what only looks bad', () => {
    it.each(HARMLESS)('When it gets $what Then it answers as if that were not there', async (odd) => {
      const plain = await askRaw(service.url, requestOf({ what: '', path: '/apps', status: 200 }, words));

      const answer = await askRaw(service.url, requestOf(odd, words));

      expect(answer.status).toBe(200);
      expect(answer.body).toBe(plain.body);
      expect(answer.headers.has('access-control-allow-origin')).toBe(false);
    });
  });
});

const reasonIn = (body: string) => (JSON.parse(body) as { reason?: string }).reason;

/** A good request with the lines of the case in place of its own. */
function requestOf(hostile: HostileCase, words: Readonly<Record<string, string>>): RawRequest {
  const good = { Authorization: 'Bearer {token}', 'Workspace-ID': '{workspace}' };
  const lines = Object.entries({ ...good, ...hostile.with }).flatMap(([name, value]) =>
    value === null ? [] : [value].flat().map((one) => fill(`${name}: ${one}`, words)),
  );
  return {
    path: fill(hostile.path, words),
    headers: lines,
    ...(hostile.method !== undefined && { method: hostile.method }),
    ...(hostile.body !== undefined && { body: hostile.body }),
  };
}

const fill = (text: string, words: Readonly<Record<string, string>>) =>
  text.replace(/\{(token|other|workspace|transfer)\}/g, (_, word: string) => words[word] ?? '');
