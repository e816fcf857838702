import { until } from '@banking/postgres/testing';
import { contract } from '../contract/contract.js';
import { Payer } from '../contract/paying.js';
import { bugsIn, secretsIn } from '../log-lines.js';
import { BOB, EVE, startedLater } from '../service.js';
import { StackedServices } from './stacked-services.js';

let services: StackedServices;
beforeAll(async () => {
  services = await StackedServices.start();
});
afterAll(() => services?.stop());

contract('the same service behind a gateway', () => startedLater(() => services.stacked));

describe('readers of events behind a gateway', () => {
  it('wait while those of another workspace have all of its places for one user', async () => {
    const service = startedLater(() => services.stacked);
    const ada = new Payer(service);
    const bob = new Payer(service, 'Northwind Trading', BOB);
    const eve = new Payer(service, 'Southwind Imports', EVE);
    const account = await ada.account();
    const disabled = `/events?type=account.disabled&resourceType=account&resourceId=${account.id}`;

    let isOver = false;
    /** Keeps its place, also if a request of Bob was first. */
    const read = async () => {
      while (!isOver) {
        await until(
          () => ada.sendRequest(`${disabled}&wait=20`),
          ({ status }) => status !== 429,
        );
      }
    };
    const readers = Array.from({ length: 10 }, read);
    // The upstream counts Bob and Ada as one user.
    await until(
      () => bob.sendRequest(`${disabled}&wait=1`),
      ({ status }) => status === 429,
    );
    const ofEve = await eve.sendRequest('/events?type=account.disabled&wait=1');
    isOver = true;
    await ada.view.accounts.change(account.id, { status: 'disabled' });

    await Promise.all(readers);
    expect([ofEve.status, ofEve.body]).toEqual([200, []]);
  });
});

describe('logs of the upstream and the gateway after the contract suite', () => {
  it('contain neither a secret nor an unhandled error', () => {
    const logs = [services.books.log, services.front.log];

    expect(logs.flatMap((log) => [...secretsIn(log), ...bugsIn(log)])).toEqual([]);
  });
});
