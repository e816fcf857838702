import { testOrProve } from '@banking/postgres/testing';
import * as fc from 'fast-check';
import { proveDocumented } from '../responses.js';
import { header, method, path, query } from '../fuzz/random-heads.js';
import { ADA, serviceOfTheRun } from '../service.js';
import { idOf } from '../world.js';
import { sendRawRequest, faultsInError } from './raw-request.js';

const service = serviceOfTheRun();

/** Each request has a connection of its own, so a few hundred of them take some seconds. */
const REQUESTS = testOrProve(100, 400);
const seed = Date.now() & 0x7fffffff;

describe(`random requests (seed ${seed})`, () => {
  it(`survives ${REQUESTS} requests without a 5xx and without internal details in a response`, async () => {
    const token = await service.tokenOf(ADA);
    const signedIn = [
      `Authorization: Bearer ${token}`,
      `Workspace-ID: ${idOf(service.world, 'workspaces', 'Northwind Trading')}`,
    ];

    await fc.assert(
      fc.asyncProperty(
        method,
        path,
        query,
        fc.array(header, { maxLength: 5 }),
        fc.boolean(),
        async (verb, at, search, headers, known) => {
          const target = `${at}${search}`.replace(/[^\x21-\x7e]/g, encodeURIComponent);

          const response = await sendRawRequest(service.url, {
            method: verb,
            path: target,
            headers: [...(known ? signedIn : []), ...headers],
          });

          if (response.status === undefined || response.status >= 500)
            throw new Error(`the status is ${response.status}: ${response.body}`);
          if (response.status < 400 || verb === 'HEAD') return;
          expect(faultsInError(response)).toEqual([]);
          await proveDocumented(service, verb, target, response.status);
        },
      ),
      { numRuns: REQUESTS, seed },
    );
    const alive = await fetch(`${service.url}/health/live`);
    expect(alive.status).toBe(200);
  });
});
