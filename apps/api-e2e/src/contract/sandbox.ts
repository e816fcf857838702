import type { Account, AccountId, Order, RecipientId, Transaction, TransactionEventWish, TransactionId } from '@banking/domain'; // prettier-ignore
import type { Service } from '../service.js';
import { pathsOf, Payer } from './paying.js';
import { DATA, INDIA } from './recipients.js';
import { mistakesIn } from './shapes.js';

/** A network that never says its last word by itself: how this account number ends is made for that. */
const NO_LAST_WORD = '50100123459011';

const bare = (text: string) => text.replace(/"requestId":"[^"]*"/, '');

/** What a sandbox can be made to do: its network speaks, and its time passes. */
export function sandboxContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);

  describe('and a payment abroad, in a sandbox', () => {
    let account: Account;
    let recipientID: RecipientId;
    beforeAll(async () => {
      account = await ada.account('100000000');
      const data = { ...DATA, beneficiaryAccountNumber: NO_LAST_WORD };
      recipientID = (await ada.view.recipients.addInternational({ ...INDIA, data, saved: false })).resource.id;
    });
    const pay = async () => {
      const { body } = await ada.send(account.id, { amount: '100000', recipientID, type: 'instant', purposeCode: 'IR002' }); // prettier-ignore
      return (body as Order).edges.executions?.[0]?.edges.transaction?.id as TransactionId;
    };
    const say = (transactionId: number, body: unknown, headers: Readonly<Record<string, string>> = {}, by = ada) =>
      by.ask(`/sandbox/transactions/${transactionId}/events`, { body, headers });
    const wordsOf = ({ edges }: Transaction) =>
      (edges.internationalRemittance?.edges.events ?? [])
        .filter(({ status }) => status !== 'ACSP')
        .map(({ status, reasonCode, message }) => [status, reasonCode, message]);
    const AC04 = ['RJCT', 'AC04', 'The payment was rejected. The account is closed.'];
    const CREDITED = ['ACCC', undefined, 'The amount was credited to the account of the beneficiary.'];

    it('When it is rejected Then it has failed, the money is back but for the fee, and Location shows it', async () => {
      const before = BigInt(await ada.balanceOf(account.id));
      const transactionId = await pay();

      const { status, headers, body } = await say(transactionId, { status: 'RJCT', reasonCode: 'AC04' });

      const transaction = body as Transaction;
      expect(status).toBe(201);
      expect(mistakesIn(transaction, 'Transaction')).toEqual([]);
      expect(transaction).toMatchObject({ id: transactionId, status: 'failed' });
      expect(wordsOf(transaction)).toEqual([AC04]);
      const [debit] = transaction.edges.transfers ?? [];
      expect(headers.get('location')).toBe(`/transfers/${debit?.id}`);
      const shown = await ada.view.transfers.get(Number(debit?.id));
      expect(shown.edges.transaction).toMatchObject({ id: transactionId, status: 'failed' });
      expect(BigInt(await ada.balanceOf(account.id))).toBe(before - BigInt(debit?.feeAmount ?? '0'));
    });

    it('When words come again or too late Then they are recorded, and move nothing', async () => {
      const transactionId = await pay();
      await say(transactionId, { status: 'RJCT', reasonCode: 'AC04' });
      const after = await ada.balanceOf(account.id);

      await say(transactionId, { status: 'RJCT', reasonCode: 'AC04' });
      const { body } = await say(transactionId, { status: 'ACCC' });

      expect(body).toMatchObject({ status: 'failed' });
      expect(wordsOf(body as Transaction)).toEqual([AC04, AC04, CREDITED]);
      expect(await ada.balanceOf(account.id)).toBe(after);
    });

    it('When it is credited Then it is completed, for good', async () => {
      const transactionId = await pay();
      const after = await ada.balanceOf(account.id);
      const wish: TransactionEventWish = { transactionId, status: 'ACCC' };

      const { resource, isReplay } = await ada.view.sandbox.addEvent(wish);

      expect([resource.status, isReplay]).toEqual(['completed', false]);
      const late = await ada.view.sandbox.addEvent({ transactionId, status: 'RJCT', reasonCode: 'AC04' });
      expect(late.resource.status).toBe('completed');
      expect(await ada.balanceOf(account.id)).toBe(after);
    });

    it('When the request comes again with its key Then it was said once', async () => {
      const transactionId = await pay();
      const key = { 'Idempotency-Key': `event-${transactionId}` };
      const first = await say(transactionId, { status: 'RJCT', reasonCode: 'AC04' }, key);

      const again = await say(transactionId, ' {"reasonCode" : "AC04", "status": "RJCT"} ', key);

      expect([again.status, again.text]).toEqual([201, first.text]);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(await say(transactionId, { status: 'ACCC' }, key)).toMatchObject({ status: 422, body: { reason: 'idempotency_key_reused' } }); // prettier-ignore
      const { body } = await say(transactionId, { status: 'ACCC' });
      expect(wordsOf(body as Transaction)).toEqual([AC04, CREDITED]);
    });

    it('When many reject it at once Then the money comes back once', async () => {
      const transactionId = await pay();
      const before = BigInt(await ada.balanceOf(account.id));

      const answers = await Promise.all(Array.from({ length: 6 }, () => say(transactionId, { status: 'RJCT' })));

      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
      expect(BigInt(await ada.balanceOf(account.id))).toBe(before + 100_000n);
    });

    it('When nobody has it, another workspace does, or it never left Then all are the same answer', async () => {
      const transactionId = await pay();
      const { items } = await ada.view.transfers.listPage({ accountId: account.id as AccountId, type: 'funding' });
      const funding = Number(items[0]?.edges.transaction?.id);
      const personal = new Payer(service, 'Ada personal');

      const answers = [
        await say(999_999_999, { status: 'ACCC' }),
        await say(transactionId, { status: 'ACCC' }, {}, personal),
        await say(funding, { status: 'ACCC' }),
      ];

      expect(answers[0]).toMatchObject({ status: 404, body: { reason: 'transaction_not_found' } });
      expect(new Set(answers.map(({ status, text }) => `${status} ${bare(text)}`)).size).toBe(1);
      const { resource } = await ada.view.sandbox.addEvent({ transactionId, status: 'ACSP' });
      expect(resource.status).toBe('pending');
    });

    it.each<[string, unknown, string, readonly string[]]>([
      ['nothing is said', {}, 'body_malformed', ['/status']],
      ['another word is said', { status: 'PDNG' }, 'body_malformed', ['/status']],
      ['a list is said', { status: ['ACCC'] }, 'body_malformed', ['/status']],
      ['the reason is empty', { status: 'RJCT', reasonCode: '' }, 'body_malformed', ['/reasonCode']],
      ['the reason has a line break', { status: 'RJCT', reasonCode: 'AC04\n' }, 'body_malformed', ['/reasonCode']],
      ['the reason is a sentence', { status: 'RJCT', reasonCode: 'closed account' }, 'body_malformed', ['/reasonCode']],
      ['the reason is too long', { status: 'RJCT', reasonCode: 'A'.repeat(36) }, 'body_malformed', ['/reasonCode']],
      ['the reason is null', { status: 'RJCT', reasonCode: null }, 'body_malformed', ['/reasonCode']],
      ['it comes with its name', { status: 'RJCT', providerEvent: 'e1' }, 'field_unknown', ['/providerEvent']],
    ])('When %s Then it is refused by name, and nothing was said', async (_, body, reason, paths) => {
      const transactionId = await pay();

      const answer = await say(transactionId, body);

      expect(answer).toMatchObject({ status: 400, body: { reason } });
      expect(pathsOf(answer)).toEqual([...paths]);
      const { resource } = await ada.view.sandbox.addEvent({ transactionId, status: 'ACCC' });
      expect(wordsOf(resource)).toEqual([CREDITED]);
    });
  });

  describe('and the clock of a workspace, in a sandbox', () => {
    const personal = new Payer(service, 'Ada personal');
    const move = (now: unknown) => personal.ask('/sandbox/clock', { body: { now } });
    let year = 2040;
    /** A year nobody has come to yet: a service may have been asked before. */
    beforeAll(async () => {
      while ((await move(`${year}-01-01T00:00:00Z`)).status !== 200) year += 1;
    });

    it('When it is moved Then it is there, and goes no way back', async () => {
      const now = `${year}-02-01T10:00:00.5+01:00`;

      const { status, body } = await move(now);

      expect([status, mistakesIn(body, 'SandboxClock')]).toEqual([200, []]);
      expect(body).toEqual({ now: `${year}-02-01T09:00:00.500000Z` });
      expect(await personal.view.sandbox.moveClock({ now })).toEqual(body);
      for (const back of [`${year}-02-01T09:00:00Z`, '2020-01-01T00:00:00Z', '2226-01-01T00:00:00Z']) {
        expect(await move(back)).toMatchObject({ status: 422, body: { reason: 'clock_invalid' } });
      }
    });

    it('When it has passed a time Then an order cannot begin there, and that of other workspaces still can', async () => {
      await move(`${year}-03-01T00:00:00Z`);
      const place = async (by: Payer) => {
        const [from, to] = [await by.account(), await by.account()];
        const recipientID = await by.recipientOf(to);
        return by.send(from.id, { amount: '1', recipientID, type: 'scheduled', startAt: `${year}-02-15T00:00:00Z` });
      };

      const answer = await place(personal);

      expect(answer).toMatchObject({ status: 422, body: { reason: 'schedule_invalid' } });
      expect(pathsOf(answer)).toEqual(['/startAt']);
      expect(await place(ada)).toMatchObject({ status: 200 });
    });

    it('When an order has become due by it Then the order runs', async () => {
      const [from, to] = [await personal.account('500'), await personal.account()];
      const recipientID = await personal.recipientOf(to);
      const startAt = `${year}-06-01T00:00:00Z`;
      const { body } = await personal.send(from.id, { amount: '500', recipientID, type: 'scheduled', startAt });

      await move(startAt);

      const read = () => personal.view.orders.get(from.id, (body as Order).id);
      let order = await read();
      while (order.status === 'active') order = await read();
      expect(order.edges.executions).toMatchObject([{ status: 'completed' }]);
      expect(await personal.balanceOf(to.id)).toBe('500');
    }, 60_000);

    it('When an order has run more than once Then its executions are answered in pages, the latest first', async () => {
      const [from, to] = [await personal.account('500'), await personal.account()];
      const recipientID = await personal.recipientOf(to);
      const startAt = `${year}-07-01T00:00:00Z`;
      const order = { amount: '1', recipientID, type: 'recurring', repeatUnit: 'daily', repeatValue: 1, startAt };
      const placed = (await personal.send(from.id, order)).body as Order;
      const path = `/accounts/${from.id}/orders/${placed.id}`;
      const read = (query = '') => personal.ask(`${path}${query}`);
      const runsOf = (answer: { readonly body: unknown }) => (answer.body as Order).edges.executions ?? [];
      for (const day of [1, 2]) {
        await move(`${year}-07-0${day}T00:00:00Z`);
        while (runsOf(await read()).length <= day) await new Promise((resolve) => setImmediate(resolve));
      }
      await personal.view.orders.cancel(from.id, placed.id);

      const [whole, before, last] = [await read(), await read('?limit=500'), await read('?limit=2')];

      expect(runsOf(whole).map(({ sequence, status }) => [sequence, status])).toEqual([[1, 'completed'], [2, 'completed'], [3, 'cancelled']]); // prettier-ignore
      expect(whole.headers.has('link')).toBe(false);
      expect(before.text).toBe(whole.text);
      expect(mistakesIn(last.body, 'Order')).toEqual([]);
      expect(runsOf(last)).toEqual(runsOf(whole).slice(1));
      const [, target = '', relation] = /^<([^>]+)>; (.+)$/.exec(last.headers.get('link') ?? '') ?? [];
      expect([target.split('?')[0], relation]).toEqual([path, 'rel="next"']);
      const first = await personal.ask(target);
      expect([runsOf(first), first.headers.has('link')]).toEqual([runsOf(whole).slice(0, 1), false]);
      const walked = [];
      for await (const { sequence } of personal.view.orders.executions(from.id, placed.id, { limit: 1 }))
        walked.push(sequence);
      expect(walked).toEqual([3, 2, 1]);

      const [, cursor = ''] = /cursor=([^&]+)/.exec(target) ?? [];
      for (const query of ['limit=0', 'limit=501', 'limit=1.5', 'limit=1&limit=2', 'limit=']) {
        expect(await read(`?${query}`)).toMatchObject({ status: 400, body: { reason: 'limit_invalid' } });
      }
      for (const wrong of ['', 'AAAA', '%00', `${cursor}A`, `${cursor}&cursor=${cursor}`]) {
        expect(await read(`?cursor=${wrong}`)).toMatchObject({ status: 400, body: { reason: 'cursor_invalid' } });
      }
      expect(await read('?page=2')).toMatchObject({ status: 400, body: { reason: 'parameter_unknown' } });
      expect(await personal.ask(`/orders?cursor=${cursor}`)).toMatchObject({
        status: 400,
        body: { reason: 'cursor_invalid' },
      });
      const other = (await personal.send(from.id, { ...order, startAt: `${year + 1}-01-01T00:00:00Z` })).body as Order;
      expect(await personal.ask(`/accounts/${from.id}/orders/${other.id}?cursor=${cursor}`)).toMatchObject({ status: 400, body: { reason: 'cursor_invalid' } }); // prettier-ignore
    }, 60_000);

    it.each([
      ['nothing', undefined],
      ['a day alone', '2099-01-31'],
      ['a time without an offset', '2099-01-31T09:00:00'],
      ['a day that does not exist', '2099-02-30T09:00:00Z'],
      ['a number', 4_102_444_800],
      ['null', null],
    ])('When it is moved to %s Then it is refused by name', async (_, now) => {
      const answer = await move(now);

      expect(answer).toMatchObject({ status: 400, body: { reason: 'timestamp_invalid' } });
      expect(pathsOf(answer)).toEqual(['/now']);
    });
  });
}
