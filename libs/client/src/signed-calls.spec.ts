import { BankingClient } from './index.js';
import { type Ed25519Key, ed25519Signer, SignatureError, verifyEd25519 } from './signing.js';
import {
  type ReceivedRequest,
  responds,
  dies,
  type ScriptedService,
  scriptedService,
} from './testing/scripted-service.js';

describe('client with a signer', () => {
  let service: ScriptedService;
  let client: BankingClient;
  let publicKey: Ed25519Key;

  beforeAll(async () => {
    service = await scriptedService();
    const pair = await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']);
    if (!('privateKey' in pair)) throw new Error('the platform made no pair');
    ({ publicKey } = pair);
    const signer = ed25519Signer({ keyId: 'payments-2026', privateKey: pair.privateKey });
    client = new BankingClient({ baseUrl: `${service.url}/banking`, token: 'token', signer });
  });
  afterAll(() => service.close());

  /** The received request, in the form that a receiver verifies. */
  const verified = ({ method, url, headers: all, body }: ReceivedRequest) => {
    const headers = Object.fromEntries(Object.entries(all).map(([name, value]) => [name, String(value)]));
    const request = { method, url: new URL(url, service.url), headers, body: new TextEncoder().encode(body) };
    return verifyEd25519(request, headers, publicKey);
  };

  const fund = () => client.workspace(7).sandbox.fund({ accountId: 1, amount: '5' });

  it('signs reads, creations and retries, each with another nonce', async () => {
    service.script(responds(200, []), responds(200, { id: 7 }), dies, responds(201, { id: 1 }));
    await client.corridors.list('DE');
    await client.workspace(7).orders.cancel(1, 7);
    await fund();

    const all = await Promise.all(service.received.map(verified));
    expect(all.map(({ keyId }) => keyId)).toEqual(Array(4).fill('payments-2026'));
    expect(new Set(all.map(({ nonce }) => nonce)).size).toBe(4);
  });

  it('lets the receiver detect a changed workspace', async () => {
    await fund();
    const request = service.received.at(-1);
    if (request === undefined) throw new Error('no request was received');

    await expect(verified({ ...request, headers: { ...request.headers, 'workspace-id': '8' } })).rejects.toThrow(
      new SignatureError('The signature does not match this request and this key.'),
    );
  });
});
