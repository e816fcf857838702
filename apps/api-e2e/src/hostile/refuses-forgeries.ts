import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { testOrProve } from '@banking/postgres/testing';
import { callOf, type Document, routesOf } from '../documented/document.js';
import { openApiOf, sendRequest } from '../responses.js';
import type { Service } from '../service.js';
import { idOf } from '../world.js';
import { forge, forgeries, namesOfForgeries, newAttacker, type Attacker, type Mint } from './forge.js';

/** One operation of each kind. `npm run prove` tries all. */
const SOME_OPERATIONS = ['listApps', 'listProducts', 'getTransfer', 'listCorridors', 'listAppUsers', 'placeOrder'];

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

    const requestWith = (path: string, token: string, method = 'GET') => {
      const { service } = target;
      const anyone = { ...service, tokenOf: () => Promise.resolve(token) };
      return sendRequest(anyone, path, {
        method,
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
      const document = (await openApiOf(target.service)) as unknown as Document;
      const routes = routesOf(document).filter(({ operation }) => operation.security.length > 0);
      expect(routes.length).toBeGreaterThan(25);
      const chosen = testOrProve(
        routes.filter(({ operation }) => SOME_OPERATIONS.includes(operation.operationId)),
        routes,
      );
      expect(chosen.length).toBeGreaterThanOrEqual(SOME_OPERATIONS.length);

      for (const { method, path } of chosen.map((route) => callOf(route))) {
        const response = await requestWith(path, token, method);

        expect([method, path, response.status]).toEqual([method, path, 401]);
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
