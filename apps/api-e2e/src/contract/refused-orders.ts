import type { Account, AccountId } from '@banking/domain';
import type { Service } from '../service.js';
import { idOf } from '../world.js';
import { type OrderPart, pathsOf, Payer } from './paying.js';

/** Description, part of the body, status, reason, and the paths of the invalid fields. */
type Refused = [string, () => OrderPart & Record<string, unknown>, number, string, readonly string[]];

const NO_AMOUNTS = [
  '',
  '0',
  '-1',
  '+1',
  '01',
  '1.0',
  '1e3',
  '1,000',
  '1 ',
  ' 1',
  '1\n',
  '0x1',
  '１',
  'Infinity',
  'NaN',
  '1\0',
  `1${'0'.repeat(40)}`,
  100,
  2 ** 53,
  1.5,
  true,
  [],
  ['100'],
  {},
];

/** Refused orders, which write no row and move no money. */
export function refusedOrdersContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);
  const ravi = () => idOf(service.world, 'recipients', 'international');
  const toRavi = (part: OrderPart = {}) => ({
    amount: '250000',
    recipientID: ravi(),
    type: 'instant',
    purposeCode: 'IR002',
    ...part,
  });

  describe('refused orders', () => {
    let account: Account;
    beforeAll(async () => {
      account = await ada.account('1000000');
    });

    it.each<Refused>([
      ['no amount', () => ({ amount: undefined }), 400, 'amount_malformed', ['/amount']],
      ['null for the amount', () => ({ amount: null }), 400, 'amount_malformed', ['/amount']],
      ...NO_AMOUNTS.map((amount): Refused => [
        `the amount ${JSON.stringify(amount)}`,
        () => ({ amount }),
        400,
        'amount_malformed',
        ['/amount'],
      ]),
      ['more than is stored', () => ({ amount: '9223372036854775808' }), 400, 'amount_out_of_range', ['/amount']],
      ['a unit under the limit', () => ({ amount: '999' }), 422, 'amount_below_minimum', ['/amount']],
      ['a unit over the limit', () => ({ amount: '5000001' }), 422, 'amount_above_maximum', ['/amount']],
      ['all there is, and nothing for the fee', () => ({ amount: '1000000' }), 422, 'insufficient_funds', []],
      ['a recipient as a text', () => ({ recipientID: '2' }), 400, 'body_malformed', ['/recipientID']],
      ['no recipient', () => ({ recipientID: undefined }), 400, 'body_malformed', ['/recipientID']],
      ['an unknown recipient', () => ({ recipientID: 999_999 }), 422, 'recipient_invalid', ['/recipientID']],
      ['no type', () => ({ type: undefined }), 400, 'body_malformed', ['/type']],
      ['another type', () => ({ type: 'express' }), 400, 'body_malformed', ['/type']],
      ['a NUL in the description', () => ({ description: 'a\0b' }), 400, 'body_malformed', ['/description']],
      [
        'two lines of description',
        () => ({ description: 'x\r\nSet-Cookie: a' }),
        400,
        'body_malformed',
        ['/description'],
      ],
      ['a long description', () => ({ description: 'x'.repeat(513) }), 400, 'body_malformed', ['/description']],
      ['no purpose', () => ({ purposeCode: undefined }), 422, 'purpose_code_required', ['/purposeCode']],
      ['no known purpose', () => ({ purposeCode: 'IR999' }), 422, 'purpose_code_invalid', ['/purposeCode']],
      ['an unknown quote', () => ({ quoteID: 999_999 }), 422, 'quote_unusable', []],
      ['the quote of another account', () => ({ quoteID: 1 }), 422, 'quote_unusable', []],
      ['metadata that is a list', () => ({ metadata: ['a'] }), 400, 'body_malformed', ['/metadata']],
      ['metadata of numbers', () => ({ metadata: { a: 1 } }), 400, 'body_malformed', ['/metadata']],
      [
        'too much metadata',
        () => ({ metadata: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`k${at}`, 'v'])) }),
        400,
        'body_malformed',
        ['/metadata'],
      ],
      [
        'the reference of another order',
        () => ({ externalReference: 'FAMILY-1' }),
        422,
        'external_reference_reused',
        [],
      ],
      ['an id of its own', () => ({ id: 7 }), 400, 'field_unknown', ['/id']],
      ['a fee of its own', () => ({ feeAmount: '0' }), 400, 'field_unknown', ['/feeAmount']],
      ['a rate of its own', () => ({ rate: '1' }), 400, 'field_unknown', ['/rate']],
      ['another account', () => ({ accountId: 2 }), 400, 'field_unknown', ['/accountId']],
      ['an approval', () => ({ approved: true }), 400, 'field_unknown', ['/approved']],
      ['a status', () => ({ status: 'completed' }), 400, 'field_unknown', ['/status']],
      ['a transaction', () => ({ edges: { transaction: { id: 1 } } }), 400, 'field_unknown', ['/edges']],
    ])('refuses %s by name and writes nothing', async (_, part, status, reason, paths) => {
      const response = await ada.send(account.id, toRavi(part()));

      expect(response).toMatchObject({ status, body: { reason } });
      expect(pathsOf(response)).toEqual([...paths]);
      expect(await ada.balanceOf(account.id)).toBe('1000000');
      expect(await ada.ordersOf(account.id)).toEqual([]);
    });

    it('refuses a deleted recipient, one of another workspace and the account itself like an unknown recipient', async () => {
      const personal = new Payer(service, 'Ada personal');
      const theirs = await personal.recipientOf(await personal.account());
      const [deleted, itself] = [await ada.recipientOf(await ada.account()), await ada.recipientOf(account)];
      await ada.view.recipients.delete(deleted);

      for (const recipientID of [theirs, deleted, itself]) {
        expect(await ada.send(account.id, toRavi({ recipientID }))).toMatchObject({
          status: 422,
          body: { reason: 'recipient_invalid' },
        });
      }
      const comparable = ({ body }: { body: unknown }) => ({ ...(body as object), requestId: '' });
      expect(comparable(await ada.send(account.id, toRavi({ recipientID: theirs })))).toEqual(
        comparable(await ada.send(account.id, toRavi({ recipientID: 999_999 }))),
      );
    });

    it('gives one response for an unknown account and an account of another workspace', async () => {
      const southwind = idOf(service.world, 'accounts', 'Southwind Imports USD') as AccountId;
      const comparable = ({ status, body }: { status: number; body: unknown }) => ({
        status,
        ...(body as object),
        requestId: '',
      });

      const [theirs, unknown] = [await ada.send(southwind, toRavi()), await ada.send(999_999, toRavi())];

      expect(theirs).toMatchObject({ status: 404, body: { reason: 'account_not_found' } });
      expect(comparable(theirs)).toEqual(comparable(unknown));
    });
  });
}
