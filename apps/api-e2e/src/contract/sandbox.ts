import { BankingClient } from '@banking/client';
import type {
  Account,
  AccountId,
  AddTransactionEventInput,
  Order,
  ProductId,
  RecipientId,
  Transaction,
  TransactionId,
  Transfer,
  TransferAmount,
  WorkspaceId,
} from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { sendRequest } from '../responses.js';
import { ADA, idOf, type Service } from '../service.js';
import { faultsIn } from './shapes.js';
import { pathsOf, Payer } from './paying.js';
import { DATA, INDIA } from './recipients.js';

/** Fundings with demo money, in a sandbox. */
export function fundingsContract(provide: () => Service): void {
  const service = provide();
  const workspace = () => idOf(service.world, 'workspaces', 'Ada personal');
  const client = () => new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(ADA) });
  const view = () => client().workspace(workspace() as WorkspaceId);
  const send = (account: Account, body: unknown, headers: Record<string, string> = {}) =>
    sendRequest(service, `/sandbox/accounts/${account.id}/fundings`, {
      as: ADA,
      workspace: workspace(),
      body,
      headers,
    });
  let account: Account;

  describe('fundings', () => {
    beforeAll(async () => {
      const [product] = await client().products.list();
      account = (await view().accounts.open({ productID: product?.id as ProductId, alias: 'Funded' })).resource;
    });
    const balance = async () => (await view().accounts.get(account.id)).edges.balances[0]?.amount;

    it('credits the balance and returns the transfer at its Location', async () => {
      const { status, headers, body } = await send(account, { amount: '1000000' });

      const transfer = body as Transfer;
      expect(status).toBe(201);
      expect(faultsIn(transfer, 'Transfer')).toEqual([]);
      expect(transfer).toMatchObject({ amount: '1000000', direction: 'credit', type: 'funding' });
      expect(transfer).not.toHaveProperty('feeAmount');
      expect(headers.get('location')).toBe(`/transfers/${transfer.id}`);
      expect(await view().transfers.get(transfer.id)).toEqual(transfer);
      expect(await balance()).toBe(1_000_000);
    });

    it('credits once for a repeated idempotency key', async () => {
      const key = { 'Idempotency-Key': `funding-${account.id}` };
      const before = await balance();
      const first = await send(account, { amount: '250' }, key);

      const again = await send(account, ' {"amount" : "250"} ', key);

      expect(again.text).toBe(first.text);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(await balance()).toBe(Number(before) + 250);
      expect(await send(account, { amount: '251' }, key)).toMatchObject({
        status: 422,
        body: { reason: 'idempotency_key_reused' },
      });
      const input = { accountId: account.id, amount: '250' as TransferAmount };
      expect(await view().sandbox.fund(input, { idempotencyKey: key['Idempotency-Key'] })).toMatchObject({
        resource: first.body,
        isReplay: true,
      });
    });

    it.each<[string, unknown, number, string, readonly string[]]>([
      ['no amount', {}, 400, 'amount_malformed', ['/amount']],
      ['a number', { amount: 100 }, 400, 'amount_malformed', ['/amount']],
      ['null', { amount: null }, 400, 'amount_malformed', ['/amount']],
      ['a list', { amount: ['100'] }, 400, 'amount_malformed', ['/amount']],
      ['nothing', { amount: '' }, 400, 'amount_malformed', ['/amount']],
      ['zero', { amount: '0' }, 400, 'amount_malformed', ['/amount']],
      ['a sign', { amount: '-100' }, 400, 'amount_malformed', ['/amount']],
      ['a plus', { amount: '+100' }, 400, 'amount_malformed', ['/amount']],
      ['a point', { amount: '1.00' }, 400, 'amount_malformed', ['/amount']],
      ['a comma', { amount: '1,000' }, 400, 'amount_malformed', ['/amount']],
      ['a leading zero', { amount: '0100' }, 400, 'amount_malformed', ['/amount']],
      ['a space', { amount: ' 100' }, 400, 'amount_malformed', ['/amount']],
      ['a line break', { amount: '100\n' }, 400, 'amount_malformed', ['/amount']],
      ['an exponent', { amount: '1e3' }, 400, 'amount_malformed', ['/amount']],
      ['hexadecimal', { amount: '0x10' }, 400, 'amount_malformed', ['/amount']],
      ['other digits', { amount: '１００' }, 400, 'amount_malformed', ['/amount']],
      ['twenty digits', { amount: '10000000000000000000' }, 400, 'amount_malformed', ['/amount']],
      ['more than the books hold', { amount: '9223372036854775808' }, 400, 'amount_out_of_range', ['/amount']],
      ['more than an account holds', { amount: '9007199254740992' }, 422, 'balance_limit_exceeded', []],
      ['a fee of its own', { amount: '100', feeAmount: '1' }, 400, 'field_unknown', ['/feeAmount']],
      ['a type of its own', { amount: '100', type: 'payout' }, 400, 'field_unknown', ['/type']],
    ])('refuses the amount %s, names the field and moves no money', async (_, body, status, reason, paths) => {
      const before = await balance();

      const response = await send(account, body);

      expect(response).toMatchObject({ status, body: { reason } });
      const { details } = response.body as { details?: { path: string }[] };
      expect((details ?? []).map(({ path }) => path)).toEqual(paths);
      expect(await balance()).toBe(before);
    });

    it('refuses to fund a disabled account', async () => {
      await view().accounts.change(account.id, { status: 'disabled' });

      expect(await send(account, { amount: '1' })).toMatchObject({ status: 422, body: { reason: 'account_disabled' } });
    });
  });
}

/** The clock of a sandbox workspace, and the orders that it makes due. */
export function sandboxClockContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);

  describe('sandbox clock of a workspace', () => {
    const personal = new Payer(service, 'Ada personal');
    const move = (now: unknown) => personal.sendRequest('/sandbox/clock', { body: { now } });
    let year = 2040;
    /** Starts at a year that no earlier run on this service has reached. */
    beforeAll(async () => {
      while ((await move(`${year}-01-01T00:00:00Z`)).status !== 200) expect((year += 1)).toBeLessThan(2200);
    });

    it('moves forward, and refuses to move back', async () => {
      const now = `${year}-02-01T10:00:00.5+01:00`;

      const { status, body } = await move(now);

      expect([status, faultsIn(body, 'SandboxClock')]).toEqual([200, []]);
      expect(body).toEqual({ now: `${year}-02-01T09:00:00.500000Z` });
      expect(await personal.view.sandbox.moveClock({ now })).toEqual(body);
      for (const back of [`${year}-02-01T09:00:00Z`, '2020-01-01T00:00:00Z', '2226-01-01T00:00:00Z']) {
        expect(await move(back)).toMatchObject({ status: 422, body: { reason: 'clock_invalid' } });
      }
    });

    it('refuses a start before it, and not in other workspaces', async () => {
      await move(`${year}-03-01T00:00:00Z`);
      const place = async (by: Payer) => {
        const [from, to] = [await by.account(), await by.account()];
        const recipientID = await by.recipientOf(to);
        return by.send(from.id, { amount: '1', recipientID, type: 'scheduled', startAt: `${year}-02-15T00:00:00Z` });
      };

      const response = await place(personal);

      expect(response).toMatchObject({ status: 422, body: { reason: 'schedule_invalid' } });
      expect(pathsOf(response)).toEqual(['/startAt']);
      expect(await place(ada)).toMatchObject({ status: 200 });
    });

    it('executes an order that it makes due', async () => {
      const [from, to] = [await personal.account('500'), await personal.account()];
      const recipientID = await personal.recipientOf(to);
      const startAt = `${year}-06-01T00:00:00Z`;
      const { body } = await personal.send(from.id, { amount: '500', recipientID, type: 'scheduled', startAt });

      await move(startAt);

      const read = () => personal.view.orders.get(from.id, (body as Order).id);
      const order = await until(read, ({ status }) => status !== 'active');
      expect(order.edges.executions).toMatchObject([{ status: 'completed' }]);
      expect(await personal.balanceOf(to.id)).toBe('500');
    });

    it('pages the executions of an order, latest first', async () => {
      const [from, to] = [await personal.account('500'), await personal.account()];
      const recipientID = await personal.recipientOf(to);
      const startAt = `${year}-07-01T00:00:00Z`;
      const order = { amount: '1', recipientID, type: 'recurring', repeatUnit: 'daily', repeatValue: 1, startAt };
      const placed = (await personal.send(from.id, order)).body as Order;
      const path = `/accounts/${from.id}/orders/${placed.id}`;
      const read = (query = '') => personal.sendRequest(`${path}${query}`);
      const runsOf = (response: { readonly body: unknown }) => (response.body as Order).edges.executions ?? [];
      for (const day of [1, 2]) {
        await move(`${year}-07-0${day}T00:00:00Z`);
        await until(read, (response) => runsOf(response).length > day);
      }
      await personal.view.orders.cancel(from.id, placed.id);

      const [whole, before, last] = [await read(), await read('?limit=500'), await read('?limit=2')];

      expect(runsOf(whole).map(({ sequence, status }) => [sequence, status])).toEqual([
        [1, 'completed'],
        [2, 'completed'],
        [3, 'cancelled'],
      ]);
      expect(whole.headers.has('link')).toBe(false);
      expect(before.text).toBe(whole.text);
      expect(faultsIn(last.body, 'Order')).toEqual([]);
      expect(runsOf(last)).toEqual(runsOf(whole).slice(1));
      const [, target = '', relation] = /^<([^>]+)>; (.+)$/.exec(last.headers.get('link') ?? '') ?? [];
      expect([target.split('?')[0], relation]).toEqual([path, 'rel="next"']);
      const first = await personal.sendRequest(target);
      expect([runsOf(first), first.headers.has('link')]).toEqual([runsOf(whole).slice(0, 1), false]);
      const walked = [];
      for await (const { sequence } of personal.view.orders.executions(from.id, placed.id, { limit: 1 }))
        walked.push(sequence);
      expect(walked).toEqual([3, 2, 1]);

      const [, cursor = ''] = /cursor=([^&]+)/.exec(target) ?? [];
      for (const query of ['limit=0', 'limit=501', 'limit=1.5', 'limit=']) {
        expect(await read(`?${query}`)).toMatchObject({ status: 400, body: { reason: 'limit_invalid' } });
      }
      for (const wrong of ['', 'AAAA', '%00', `${cursor}A`]) {
        expect(await read(`?cursor=${wrong}`)).toMatchObject({ status: 400, body: { reason: 'cursor_invalid' } });
      }
      expect(await read('?page=2')).toMatchObject({ status: 400, body: { reason: 'parameter_unknown' } });
      expect(await personal.sendRequest(`/orders?cursor=${cursor}`)).toMatchObject({
        status: 400,
        body: { reason: 'cursor_invalid' },
      });
      const other = (await personal.send(from.id, { ...order, startAt: `${year + 1}-01-01T00:00:00Z` })).body as Order;
      expect(await personal.sendRequest(`/accounts/${from.id}/orders/${other.id}?cursor=${cursor}`)).toMatchObject({
        status: 400,
        body: { reason: 'cursor_invalid' },
      });
    });

    it.each([
      ['nothing', undefined],
      ['a day alone', '2099-01-31'],
      ['a time without an offset', '2099-01-31T09:00:00'],
      ['a day that does not exist', '2099-02-30T09:00:00Z'],
      ['a number', 4_102_444_800],
      ['null', null],
    ])('refuses the time %s by name', async (_, now) => {
      const response = await move(now);

      expect(response).toMatchObject({ status: 400, body: { reason: 'timestamp_invalid' } });
      expect(pathsOf(response)).toEqual(['/now']);
    });
  });
}

/** The sandbox never sends a final status for account numbers with this ending. */
const WITHOUT_FINAL_STATUS = '50100123459011';

const bare = (text: string) => text.replace(/"requestId":"[^"]*"/, '');

/** Events of international payments that a caller adds in the sandbox. */
export function sandboxEventsContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);

  describe('sandbox events of an international payment', () => {
    let account: Account;
    let recipientID: RecipientId;
    beforeAll(async () => {
      account = await ada.account('100000000');
      const data = { ...DATA, beneficiaryAccountNumber: WITHOUT_FINAL_STATUS };
      recipientID = (await ada.view.recipients.addInternational({ ...INDIA, data, saved: false })).resource.id;
    });
    const pay = async () => {
      const { body } = await ada.send(account.id, {
        amount: '100000',
        recipientID,
        type: 'instant',
        purposeCode: 'IR002',
      });
      return (body as Order).edges.executions?.[0]?.edges.transaction?.id as TransactionId;
    };
    const say = (transactionId: number, body: unknown, headers: Readonly<Record<string, string>> = {}, by = ada) =>
      by.sendRequest(`/sandbox/transactions/${transactionId}/events`, { body, headers });
    const wordsOf = ({ edges }: Transaction) =>
      (edges.internationalRemittance?.edges.events ?? [])
        .filter(({ status }) => status !== 'ACSP')
        .map(({ status, reasonCode, message }) => [status, reasonCode, message]);
    const AC04 = ['RJCT', 'AC04', 'The payment was rejected. The account is closed.'];
    const CREDITED = ['ACCC', undefined, 'The amount was credited to the account of the beneficiary.'];

    it('fails a rejected payment, returns the amount without the fee, and shows it at Location', async () => {
      const before = BigInt(await ada.balanceOf(account.id));
      const transactionId = await pay();

      const { status, headers, body } = await say(transactionId, { status: 'RJCT', reasonCode: 'AC04' });

      const transaction = body as Transaction;
      expect(status).toBe(201);
      expect(faultsIn(transaction, 'Transaction')).toEqual([]);
      expect(transaction).toMatchObject({ id: transactionId, status: 'failed' });
      expect(wordsOf(transaction)).toEqual([AC04]);
      const [debit] = transaction.edges.transfers ?? [];
      expect(headers.get('location')).toBe(`/transactions/${transactionId}`);
      expect(await ada.view.transactions.get(transactionId)).toEqual(transaction);
      expect(BigInt(await ada.balanceOf(account.id))).toBe(before - BigInt(debit?.feeAmount ?? '0'));
    });

    it('records repeated and late events, and moves no money', async () => {
      const transactionId = await pay();
      await say(transactionId, { status: 'RJCT', reasonCode: 'AC04' });
      const after = await ada.balanceOf(account.id);

      await say(transactionId, { status: 'RJCT', reasonCode: 'AC04' });
      const { body } = await say(transactionId, { status: 'ACCC' });

      expect(body).toMatchObject({ status: 'failed' });
      expect(wordsOf(body as Transaction)).toEqual([AC04, AC04, CREDITED]);
      expect(await ada.balanceOf(account.id)).toBe(after);
    });

    it('completes a credited payment for good', async () => {
      const transactionId = await pay();
      const after = await ada.balanceOf(account.id);
      const input: AddTransactionEventInput = { transactionId, status: 'ACCC' };

      const { resource, isReplay } = await ada.view.sandbox.addEvent(input);

      expect([resource.status, isReplay]).toEqual(['completed', false]);
      const late = await ada.view.sandbox.addEvent({ transactionId, status: 'RJCT', reasonCode: 'AC04' });
      expect(late.resource.status).toBe('completed');
      expect(await ada.balanceOf(account.id)).toBe(after);
    });

    it('records the event once for a repeated idempotency key', async () => {
      const transactionId = await pay();
      const key = { 'Idempotency-Key': `event-${transactionId}` };
      const first = await say(transactionId, { status: 'RJCT', reasonCode: 'AC04' }, key);

      const again = await say(transactionId, ' {"reasonCode" : "AC04", "status": "RJCT"} ', key);

      expect([again.status, again.text]).toEqual([201, first.text]);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(await say(transactionId, { status: 'ACCC' }, key)).toMatchObject({
        status: 422,
        body: { reason: 'idempotency_key_reused' },
      });
      const { body } = await say(transactionId, { status: 'ACCC' });
      expect(wordsOf(body as Transaction)).toEqual([AC04, CREDITED]);
    });

    it('returns the money once under concurrent rejections', async () => {
      const transactionId = await pay();
      const before = BigInt(await ada.balanceOf(account.id));

      const responses = await Promise.all(Array.from({ length: 6 }, () => say(transactionId, { status: 'RJCT' })));

      expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([201]));
      expect(BigInt(await ada.balanceOf(account.id))).toBe(before + 100_000n);
    });

    it('gives one response for an unknown payment, one of another workspace and one that was not paid out', async () => {
      const transactionId = await pay();
      const { items } = await ada.view.transfers.listPage({ accountId: account.id as AccountId, type: 'funding' });
      const funding = Number(items[0]?.edges.transaction?.id);
      const personal = new Payer(service, 'Ada personal');

      const responses = [
        await say(999_999_999, { status: 'ACCC' }),
        await say(transactionId, { status: 'ACCC' }, {}, personal),
        await say(funding, { status: 'ACCC' }),
      ];

      expect(responses[0]).toMatchObject({ status: 404, body: { reason: 'transaction_not_found' } });
      expect(new Set(responses.map(({ status, text }) => `${status} ${bare(text)}`)).size).toBe(1);
      const { resource } = await ada.view.sandbox.addEvent({ transactionId, status: 'ACSP' });
      expect(resource.status).toBe('pending');
    });

    it.each<[string, unknown, string, readonly string[]]>([
      ['the status is missing', {}, 'body_malformed', ['/status']],
      ['the status is unknown', { status: 'PDNG' }, 'body_malformed', ['/status']],
      ['the status is a list', { status: ['ACCC'] }, 'body_malformed', ['/status']],
      ['the reason is empty', { status: 'RJCT', reasonCode: '' }, 'body_malformed', ['/reasonCode']],
      ['the reason has a line break', { status: 'RJCT', reasonCode: 'AC04\n' }, 'body_malformed', ['/reasonCode']],
      ['the reason is a sentence', { status: 'RJCT', reasonCode: 'closed account' }, 'body_malformed', ['/reasonCode']],
      ['the reason is too long', { status: 'RJCT', reasonCode: 'A'.repeat(36) }, 'body_malformed', ['/reasonCode']],
      ['the reason is null', { status: 'RJCT', reasonCode: null }, 'body_malformed', ['/reasonCode']],
      ['it contains a providerEvent', { status: 'RJCT', providerEvent: 'e1' }, 'field_unknown', ['/providerEvent']],
    ])('refuses an event and records nothing if %s', async (_, body, reason, paths) => {
      const transactionId = await pay();

      const response = await say(transactionId, body);

      expect(response).toMatchObject({ status: 400, body: { reason } });
      expect(pathsOf(response)).toEqual([...paths]);
      const { resource } = await ada.view.sandbox.addEvent({ transactionId, status: 'ACCC' });
      expect(wordsOf(resource)).toEqual([CREDITED]);
    });
  });
}
