import type { Account } from '@banking/domain';
import { type Answer, ask } from '../answers.js';
import { banking } from '../banking.js';
import { Payer } from '../contract/paying.js';
import { newDataDir, RunningService } from '../running-service.js';
import { ADA, BOB, localToken, type Service } from '../service.js';
import { readWorld } from '../world.js';
import { BreakingProxy } from './breaking-proxy.js';
import { startGateway } from './stacked-services.js';

const NEW = 'new@northwind.example';

describe('Given a gateway whose way to a real deployment breaks', () => {
  let folder: Awaited<ReturnType<typeof newDataDir>>;
  let books: RunningService;
  let proxy: BreakingProxy;
  let front: RunningService;
  let service: Service;
  let ada: Payer;

  beforeAll(async () => {
    folder = await newDataDir();
    books = await RunningService.start({ dataDir: folder.path });
    proxy = await BreakingProxy.start(books.url);
    front = await startGateway({ dataDir: folder.path, upstream: proxy.url });
    const tokenOf = (email: string) => localToken(folder.path, email);
    service = { url: front.url, world: await readWorld(folder.path), tokenOf };
    ada = new Payer(service);
  }, 180_000);
  afterAll(async () => {
    // Ends with an error for any finding.
    await banking(folder.path, 'verify');
    await front?.interrupt();
    await proxy?.stop();
    await books?.interrupt().finally(folder.remove);
  });
  /** Repeats until what is in between is there again. */
  async function served(question: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      const answer = await question();
      if (![502, 503, 504].includes(answer.status)) return answer;
    }
  }

  const payment = async () => {
    const [from, to] = [await ada.account('10000'), await ada.account()];
    return { from, wish: { amount: '2500', recipientID: await ada.recipientOf(to), type: 'instant' } };
  };

  /** Sent again with the key that the broken answer named: there is one order, and it has cost once. */
  async function expectOne(from: Account, wish: object, broken: Answer): Promise<Answer> {
    const key = broken.headers.get('idempotency-key') ?? '';
    const again = await served(() => ada.send(from.id, wish, { 'idempotency-key': key }));

    expect(broken).toMatchObject({ status: 502, body: { reason: 'upstream_error' } });
    expect(again.status).toBe(200);
    expect(await ada.ordersOf(from.id)).toEqual([expect.objectContaining({ id: (again.body as { id: number }).id })]);
    expect(await ada.balanceOf(from.id)).toBe('7500');
    return again;
  }

  it('When the answer to an order is lost Then sent again with the key that was told it is the same order', async () => {
    const { from, wish } = await payment();
    const lost = proxy.breakNext(`/accounts/${from.id}/orders`, 'answered');

    const [broken] = await Promise.all([ada.send(from.id, wish), lost]);

    const again = await expectOne(from, wish, broken);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  it('When the deployment is killed over an order Then sent again with the key it is one order', async () => {
    const { from, wish } = await payment();
    const killed = proxy.breakNext(`/accounts/${from.id}/orders`, 'sent', () => {
      books.signal('SIGKILL');
      return books.ended;
    });

    const [broken] = await Promise.all([ada.send(from.id, wish), killed]);
    books = await RunningService.start({ dataDir: folder.path });
    proxy.target = books.url;

    await expectOne(from, wish, broken);
  });

  it('When the way breaks for many at once Then each order sent again is one', async () => {
    const payments = await Promise.all(Array.from({ length: 8 }, payment));
    const lost = payments.map(({ from, wish }) => ({ from, wish, key: { 'idempotency-key': `many-${from.id}` } }));
    const first = lost[0]!;
    const broken = proxy.breakNext(`/accounts/${first.from.id}/orders`, 'answered', () => proxy.breakAll());

    const answers = await Promise.all(lost.map(({ from, wish, key }) => ada.send(from.id, wish, key)));
    await broken;
    const again = await Promise.all(lost.map(({ from, wish, key }) => served(() => ada.send(from.id, wish, key))));

    expect(answers.map(({ status }) => status)).toContain(502);
    expect(again.map(({ status }) => status)).toEqual(lost.map(() => 200));
    for (const { from } of lost) {
      expect([await ada.balanceOf(from.id), (await ada.ordersOf(from.id)).length]).toEqual(['7500', 1]);
    }
  });

  describe('and whose people change', () => {
    const accountsOf = (email: string) => ask(service, '/accounts', { as: email, workspace: 1 });
    async function until(email: string, status: number, meanwhile: number): Promise<void> {
      for (;;) {
        const answer = await accountsOf(email);
        if (answer.status === status) return;
        expect(answer.status).toBe(meanwhile);
      }
    }

    it('When a role is taken away Then the gateway takes it away too', async () => {
      expect((await accountsOf(BOB)).status).toBe(200);

      await banking(folder.path, 'grant', 'remove', BOB, '--workspace', '1');

      await until(BOB, 403, 200);
      expect((await accountsOf(ADA)).status).toBe(200);
    });

    it('When somebody is new Then they are let in without a restart', async () => {
      expect((await accountsOf(NEW)).status).toBe(401);

      await banking(folder.path, 'user', 'add', NEW, '--app', 'Northwind Treasury');
      await until(NEW, 403, 401);
      await banking(folder.path, 'grant', 'add', NEW, '--workspace', '1', '--role', 'member');
      await until(NEW, 200, 403);
    });
  });
});
