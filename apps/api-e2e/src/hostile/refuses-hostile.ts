import { proveDocumented, sendRequest } from '../responses.js';
import { ADA, EVE, idOf, type Service } from '../service.js';
import { HOSTILE, type HostileCase, UNUSUAL_REQUESTS } from './cases.js';
import { faultsInError, type RawRequest, sendRawRequest } from './raw-request.js';

/**
 * Sends each hostile request to a service.
 *
 * @param provide the service, once the setup of the run has started it
 */
export function refusesHostile(name: string, provide: () => Service): void {
  describe(name, () => {
    let service: Service;
    let words: Readonly<Record<string, string>>;

    beforeAll(async () => {
      service = provide();
      words = {
        token: await service.tokenOf(ADA),
        other: await service.tokenOf(EVE),
        workspace: String(idOf(service.world, 'workspaces', 'Northwind Trading')),
        transfer: String(idOf(service.world, 'transfers', 'internal')),
        cursor: await cursorOf('/events', ADA, 'Northwind Trading'),
        foreign: await cursorOf('/events', EVE, 'Southwind Imports'),
        transfers: await cursorOf('/transfers', ADA, 'Northwind Trading'),
      };
    });

    /** The cursor behind the first item of a list. */
    const cursorOf = async (list: string, as: string, workspace: string): Promise<string> => {
      const caller = { as, workspace: idOf(service.world, 'workspaces', workspace) };
      const { headers } = await sendRequest(service, `${list}?limit=1`, caller);
      return /[?&]cursor=([^&>]+)/.exec(headers.get('link') ?? '')?.[1] ?? '';
    };

    afterEach(async () => {
      const alive = await sendRequest(service, '/health/live');
      expect(alive.status).toBe(200);
    });

    describe.each(Object.entries(HOSTILE))('%s', (_, cases) => {
      it.each(cases)('refuses $what with $status', async (hostile) => {
        const response = await sendRawRequest(service.url, requestOf(hostile, words));

        expect([response.status, hostile.reason && reasonIn(response.body)]).toEqual([hostile.status, hostile.reason]);
        expect(faultsInError(response)).toEqual([]);
        if (response.status === 401) expect(response.headers.get('www-authenticate')).toBe('Bearer');
        if (response.status === 405) expect(response.headers.get('allow')).toBe('GET, HEAD');
        await proveDocumented(service, hostile.method ?? 'GET', fill(hostile.path, words), hostile.status);
      });
    });

    describe('unusual but valid requests', () => {
      it.each(UNUSUAL_REQUESTS)('ignores $what', async (odd) => {
        const plain = await sendRawRequest(service.url, requestOf({ what: '', path: '/apps', status: 200 }, words));

        const response = await sendRawRequest(service.url, requestOf(odd, words));

        expect(response.status).toBe(200);
        expect(response.body).toBe(plain.body);
        expect(response.headers.has('access-control-allow-origin')).toBe(false);
      });
    });
  });
}

const reasonIn = (body: string) => (JSON.parse(body) as { reason?: string }).reason;

/** A valid request with the header lines of the case. */
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
  text.replace(/\{(\w+)\}/g, (_, word: string) => words[word] ?? '');
