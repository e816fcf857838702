import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sendRequest } from '../responses.js';
import type { Service } from '../service.js';
import { idOf } from '../world.js';
import { forge, forgeries, namesOfForgeries, newAttacker, type Attacker, type Mint } from './forge.js';

/** The names of the forgeries, which tests need before an issuer exists. */
const NAMES = namesOfForgeries();

export interface Target {
  readonly service: Pick<Service, 'url' | 'world'>;
  /** A trusted key, for a user of Northwind Trading. */
  readonly mint: Mint;
}

/** Every forged token is refused on every kind of route, with one message and without a request to another host. */
export function refusesForgeries(issuer: string, provide: () => Promise<Target>): void {
  describe(`tokens forged for ${issuer}`, () => {
    let target: Target;
    let trap: Server;
    let attacker: Attacker;
    let visits = 0;

    beforeAll(async () => {
      target = await provide();
      trap = createServer((_, response) => {
        visits += 1;
        response.end('{"keys":[]}');
      });
      await new Promise<void>((listening) => trap.listen(0, '127.0.0.1', listening));
      const { port } = trap.address() as AddressInfo;
      attacker = newAttacker(target.mint.alg, `http://127.0.0.1:${port}`);
    });

    afterAll(() => new Promise((closed) => trap.close(closed)));

    const requestWith = (path: string, token: string) => {
      const { service } = target;
      const anyone = { ...service, tokenOf: () => Promise.resolve(token) };
      return sendRequest(anyone, path, {
        as: 'any user',
        workspace: idOf(service.world, 'workspaces', 'Northwind Trading'),
      });
    };

    it('accepts an unchanged valid token', async () => {
      const response = await requestWith('/apps', forge(target.mint));

      expect(response.status).toBe(200);
    });

    it('accepts a valid token with several audiences that include the service', async () => {
      const token = forge(target.mint, { claims: { aud: ['other-api', target.mint.audience] } });

      expect((await requestWith('/apps', token)).status).toBe(200);
    });

    it.each(NAMES)('refuses %s without a request to another host', async (name) => {
      const token = forge(target.mint, forgeries(target.mint, attacker)[name]);
      const transfer = idOf(target.service.world, 'transfers', 'internal');
      const paths = [
        '/apps',
        '/products',
        `/transfers/${transfer}`,
        '/recipients/countries/IN/corridors',
        '/apps/1/users',
      ];

      for (const path of paths) {
        const response = await requestWith(path, token);

        expect(response.status).toBe(401);
        expect(response.body).toEqual({
          errorCode: 'invalid_request',
          reason: 'not_authenticated',
          message: expect.any(String),
          requestId: response.headers.get('x-request-id'),
        });
        expect(response.headers.get('www-authenticate')).toBe('Bearer');
      }
      expect(visits).toBe(0);
    });

    it('returns the same message for every forged token', async () => {
      const messages = new Set<unknown>();
      for (const name of NAMES) {
        const response = await requestWith('/apps', forge(target.mint, forgeries(target.mint, attacker)[name]));
        messages.add((response.body as { message: unknown }).message);
      }

      expect([...messages]).toHaveLength(1);
    });
  });
}
