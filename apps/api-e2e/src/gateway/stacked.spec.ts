import { contract } from '../contract/contract.js';
import { bugsIn, secretsIn } from '../log-lines.js';
import { startedLater } from '../service.js';
import { StackedServices } from './stacked-services.js';

let services: StackedServices;
beforeAll(async () => {
  services = await StackedServices.start();
});
afterAll(() => services?.stop());

contract('the same service behind a gateway', () => startedLater(() => services.stacked));

describe('logs of the upstream and the gateway after the contract suite', () => {
  it('contain neither a secret nor an unhandled error', () => {
    const logs = [services.books.log, services.front.log];

    expect(logs.flatMap((log) => [...secretsIn(log), ...bugsIn(log)])).toEqual([]);
  });
});
