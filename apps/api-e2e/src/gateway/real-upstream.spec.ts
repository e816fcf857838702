import type { Account } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { type HttpResponse, sendRequest } from '../responses.js';
import { banking, demoDataDir, RunningService, type TestDataDir, demoIds } from '../running-service.js';
import { Payer } from '../contract/paying.js';
import { ADA, BOB, localToken, type Service } from '../service.js';
import { BreakingProxy, startGateway } from './stacked-services.js';

describe('gateway with a broken connection to a real deployment', () => {
  let folder: TestDataDir;
  let books: RunningService;
  let proxy: BreakingProxy;
  let front: RunningService;
  let service: Service;
  let ada: Payer;

  beforeAll(async () => {
    folder = await demoDataDir();
    books = await RunningService.start({ dataDir: folder.path });
    proxy = await BreakingProxy.start(books.url);
    front = await startGateway({ dataDir: folder.path, upstream: proxy.url });
    const tokenOf = (email: string) => localToken(folder.path, email);
    service = { url: front.url, world: demoIds(), tokenOf };
    ada = new Payer(service);
  });
  afterAll(async () => {
    // Ends with an error for any finding.
    await banking(folder.path, 'verify');
    await front?.stop();
    await proxy?.stop();
    await books?.stop().finally(folder.remove);
  });
  /** Repeats a call until the connection works again. */
  const served = (options: () => Promise<HttpResponse>) =>
    until(options, ({ status }) => ![502, 503, 504].includes(status));

  const payment = async () => {
    const [from, to] = [await ada.account('10000'), await ada.account()];
    return { from, input: { amount: '2500', recipientID: await ada.recipientOf(to), type: 'instant' } };
  };

  /** Retries with the key of the failed response, and expects one order and one debit. */
  async function expectOne(from: Account, input: object, broken: HttpResponse): Promise<HttpResponse> {
    const key = broken.headers.get('idempotency-key') ?? '';
    const again = await served(() => ada.send(from.id, input, { 'idempotency-key': key }));

    expect(broken).toMatchObject({ status: 502, body: { reason: 'upstream_error' } });
    expect(again.status).toBe(200);
    expect(await ada.ordersOf(from.id)).toEqual([expect.objectContaining({ id: (again.body as { id: number }).id })]);
    expect(await ada.balanceOf(from.id)).toBe('7500');
    return again;
  }

  it('retries an order with a lost response by the returned key without placing it twice', async () => {
    const { from, input } = await payment();
    const lost = proxy.breakNext(`/accounts/${from.id}/orders`, 'responded');

    const [broken] = await Promise.all([ada.send(from.id, input), lost]);

    const again = await expectOne(from, input, broken);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  it('retries an order by its key after the deployment was killed without placing it twice', async () => {
    const { from, input } = await payment();
    const killed = proxy.breakNext(`/accounts/${from.id}/orders`, 'sent', () => {
      books.signal('SIGKILL');
      return books.ended;
    });

    const [broken] = await Promise.all([ada.send(from.id, input), killed]);
    books = await RunningService.start({ dataDir: folder.path });
    proxy.target = books.url;

    await expectOne(from, input, broken);
  });

  it('retries many orders by their keys without placing one twice', async () => {
    const payments = await Promise.all(Array.from({ length: 3 }, payment));
    const lost = payments.map(({ from, input }) => ({ from, input, key: { 'idempotency-key': `many-${from.id}` } }));
    const first = lost[0]!;
    const broken = proxy.breakNext(`/accounts/${first.from.id}/orders`, 'responded', () => proxy.breakAll());

    const responses = await Promise.all(lost.map(({ from, input, key }) => ada.send(from.id, input, key)));
    await broken;
    const again = await Promise.all(lost.map(({ from, input, key }) => served(() => ada.send(from.id, input, key))));

    expect(responses.map(({ status }) => status)).toContain(502);
    expect(again.map(({ status }) => status)).toEqual(lost.map(() => 200));
    for (const { from } of lost) {
      expect([await ada.balanceOf(from.id), (await ada.ordersOf(from.id)).length]).toEqual(['7500', 1]);
    }
  });

  describe('changes of users', () => {
    const accountsOf = (email: string) => sendRequest(service, '/accounts', { as: email, workspace: 1 });
    const untilStatus = (email: string, status: number, meanwhile: number) =>
      until(
        () => accountsOf(email),
        (response) => {
          expect([status, meanwhile]).toContain(response.status);
          return response.status === status;
        },
      );

    it('applies the removal of a role', async () => {
      expect((await accountsOf(BOB)).status).toBe(200);

      await banking(folder.path, 'grant', 'remove', BOB, '--workspace', '1');

      await untilStatus(BOB, 403, 200);
      expect((await accountsOf(ADA)).status).toBe(200);
    });
  });
});
