import { BankingClient, type BankingClientOptions } from './index.js';
import { hangs, refuses, type ScriptedService, scriptedService } from './testing/scripted-service.js';

let service: ScriptedService;
beforeEach(async () => {
  service = await scriptedService();
});
afterEach(() => service.close());

const clientWith = (options: Partial<BankingClientOptions> = {}) =>
  new BankingClient({ baseUrl: service.url, token: 'secret-token', retries: 1, ...options });

describe('read that its caller aborts', () => {
  it('throws the reason of the abort after sending', async () => {
    const giveUp = new AbortController();
    const reason = new Error('the page is closed');
    service.script(() => giveUp.abort(reason));

    await expect(clientWith().apps.list({ signal: giveUp.signal })).rejects.toBe(reason);
  });

  it('ends the pause before a retry', async () => {
    const giveUp = new AbortController();
    const reason = new Error('the page is closed');
    service.script(refuses(503, 'unavailable', { 'Retry-After': '5' }));
    const client = clientWith({ hooks: { retry: () => giveUp.abort(reason) } });

    await expect(client.apps.list({ signal: giveUp.signal })).rejects.toBe(reason);
  });

  it('removes its listener from a signal that lives on', async () => {
    const { signal, most, listeners } = countListeners(new AbortController().signal);

    for (let call = 0; call < 3; call += 1) await clientWith().apps.list({ signal });

    expect(most()).toBe(1);
    expect(listeners()).toBe(0);
  });

  it('shares one listener with other reads under the same signal', async () => {
    const giveUp = new AbortController();
    const { signal, most, listeners } = countListeners(giveUp.signal);
    const reason = new Error('the service stops');
    service.script(hangs);
    const client = clientWith();

    const reads = Array.from({ length: 20 }, () => client.apps.list({ signal }).catch((error: unknown) => error));
    giveUp.abort(reason);

    expect(await Promise.all(reads)).toEqual(reads.map(() => reason));
    expect(most()).toBe(1);
    expect(listeners()).toBe(0);
  });
});

/** A signal that counts its listeners. */
function countListeners(signal: AbortSignal) {
  let listeners = 0;
  let most = 0;
  return {
    signal: Object.assign(signal, {
      addEventListener: (...args: Parameters<AbortSignal['addEventListener']>) => {
        listeners += 1;
        most = Math.max(most, listeners);
        AbortSignal.prototype.addEventListener.apply(signal, args);
      },
      removeEventListener: (...args: Parameters<AbortSignal['removeEventListener']>) => {
        listeners -= 1;
        AbortSignal.prototype.removeEventListener.apply(signal, args);
      },
    }),
    most: () => most,
    listeners: () => listeners,
  };
}
