import type {
  Account,
  AccountId,
  Order,
  RecipientId,
  Transaction,
  AddTransactionEventInput,
  TransactionId,
} from '@banking/domain';
import type { Service } from '../service.js';
import { pathsOf, Payer } from './paying.js';
import { DATA, INDIA } from './recipients.js';
import { faultsIn } from './shapes.js';

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
