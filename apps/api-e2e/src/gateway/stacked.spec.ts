import { contract } from '../contract/contract.js';
import { bugsIn, secretsIn } from '../log-lines.js';
import type { Service } from '../service.js';
import { StackedServices } from './stacked-services.js';

let services: StackedServices;
beforeAll(async () => {
  services = await StackedServices.start();
}, 180_000);
afterAll(() => services?.stop());

/** The suite takes its service before it is started. */
const stacked: Service = {
  get url() {
    return services.stacked.url;
  },
  get world() {
    return services.world;
  },
  tokenOf: (email) => services.stacked.tokenOf(email),
};

contract('the same service behind a gateway', () => stacked);

describe('Given the logs of both, when all that has been asked', () => {
  it('When they are searched Then neither holds a secret, nor admits a mistake', () => {
    const logs = [services.books.log, services.front.log];

    expect(logs.flatMap((log) => [...secretsIn(log), ...bugsIn(log)])).toEqual([]);
  });
});
