import { BankingClient } from '@banking/client';
import type { InternationalRecipientWish, Recipient, WorkspaceId } from '@banking/domain';
import { ask } from '../answers.js';
import { ADA, type Service } from '../service.js';
import { idOf } from '../world.js';
import { mistakesIn } from './shapes.js';

export const INDIA = { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' } as const;
export const DATA = {
  beneficiaryName: 'Asha Rao',
  destinationCountry: 'IN',
  beneficiaryAccountType: 'Individual',
  beneficiaryCountryCode: 'IN',
  beneficiaryAccountNumber: '00601234567890',
  routingCodeType1: 'IFSC',
  routingCodeValue1: 'ICIC0000001',
};
const INTERNATIONAL = `/recipients/international?${new URLSearchParams(INDIA).toString()}`;

export function recipientsContract(provide: () => Service): void {
  const service = provide();
  const workspace = () => idOf(service.world, 'workspaces', 'Ada personal');
  const view = (name = 'Ada personal') =>
    new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(ADA) }).workspace(
      idOf(service.world, 'workspaces', name) as WorkspaceId,
    );
  const send = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(service, path, { as: ADA, workspace: workspace(), body, headers });
  const newest = async () => (await view().recipients.listPage({ limit: 1 })).items[0]?.id;
  const add = async (other: Partial<InternationalRecipientWish> = {}) =>
    (await view().recipients.addInternational({ ...INDIA, data: DATA, ...other })).resource;

  describe('and a recipient abroad', () => {
    it('When its details are right Then it is kept as they were sent, and is where Location says', async () => {
      const { status, headers, body } = await send(INTERNATIONAL, { data: DATA, alias: 'Asha' });

      const recipient = body as Recipient;
      expect(status).toBe(201);
      expect(mistakesIn(recipient, 'Recipient')).toEqual([]);
      expect(recipient).toMatchObject({
        name: 'Asha Rao',
        accountCode: '00601234567890',
        alias: 'Asha',
        saved: true,
        edges: { bank: { name: 'ICICI Bank', swiftCode: 'ICICINBB' }, currency: { code: 'INR' } },
      });
      expect(recipient.edges.beneficiary?.data).toEqual(DATA);
      expect(headers.get('location')).toBe(`/recipients/${recipient.id}`);
      expect(await view().recipients.get(recipient.id)).toEqual(recipient);
      expect((await view().recipients.listPage({ limit: 1 })).items).toEqual([recipient]);
    });

    it('When nobody knows its bank Then none is named', async () => {
      const { edges } = await add({ data: { ...DATA, routingCodeValue1: 'ZZZZ0000001' } });

      expect(edges).not.toHaveProperty('bank');
    });

    it('When the request comes again with its key Then the answer does, and nothing new is kept', async () => {
      const key = { 'Idempotency-Key': `recipient-${workspace()}` };
      const first = await send(INTERNATIONAL, { data: DATA, alias: 'Once' }, key);
      const before = await newest();

      const again = await send(INTERNATIONAL, { alias: 'Once', data: DATA }, key);

      expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([201, first.text, 'true']);
      expect(await newest()).toBe(before);
      const other = { data: { ...DATA, beneficiaryName: 'Asha Roy' }, alias: 'Once' };
      expect(await send(INTERNATIONAL, other, key)).toMatchObject({ status: 422, body: { reason: 'idempotency_key_reused' } }); // prettier-ignore
      const elsewhere = INTERNATIONAL.replace('LOCAL', 'SWIFT');
      expect(await send(elsewhere, { data: DATA, alias: 'Once' }, key)).toMatchObject({ status: 422, body: { reason: 'idempotency_key_reused' } }); // prettier-ignore
    });

    it.each<[string, unknown, number, string, readonly string[]]>([
      ['no data', {}, 400, 'body_malformed', ['/data']],
      ['data that is null', { data: null }, 400, 'body_malformed', ['/data']],
      ['a list for data', { data: [DATA] }, 400, 'body_malformed', ['/data']],
      ['a text for data', { data: 'Asha' }, 400, 'body_malformed', ['/data']],
      ['an alias that is no text', { data: DATA, alias: 7 }, 400, 'body_malformed', ['/alias']],
      ['a word for saved', { data: DATA, saved: 'yes' }, 400, 'body_malformed', ['/saved']],
      ['null for saved', { data: DATA, saved: null }, 400, 'body_malformed', ['/saved']],
      ['a field beside data', { data: DATA, name: 'Asha' }, 400, 'field_unknown', ['/name']],
      ['an id of its own', { data: DATA, id: 7 }, 400, 'field_unknown', ['/id']],
      ['a workspace of its own', { data: DATA, workspaceId: 1 }, 400, 'field_unknown', ['/workspaceId']],
      ['a field within data', { data: { ...DATA, colour: 'blue' } }, 422, 'recipient_invalid', ['/data/colour']],
      ['a prototype within data', `{"data":${JSON.stringify(DATA).replace('{', '{"__proto__":{"a":1},')}}`, 400, 'field_unknown', ['/data/__proto__']], // prettier-ignore
      ['a name that is a number', { data: { ...DATA, beneficiaryName: 7 } }, 422, 'recipient_invalid', ['/data/beneficiaryName']], // prettier-ignore
      ['a name of two lines', { data: { ...DATA, beneficiaryName: 'A\nB' } }, 422, 'recipient_invalid', ['/data/beneficiaryName']], // prettier-ignore
      ['another country', { data: { ...DATA, destinationCountry: 'DE' } }, 422, 'recipient_invalid', ['/data/destinationCountry']], // prettier-ignore
      ['an IFSC in small letters', { data: { ...DATA, routingCodeValue1: 'icic0000001' } }, 422, 'recipient_invalid', ['/data/routingCodeValue1']], // prettier-ignore
      ['no account', { data: { ...DATA, beneficiaryAccountNumber: undefined } }, 422, 'recipient_invalid', ['/data/beneficiaryAccountNumber']], // prettier-ignore
      ['two faults', { data: { ...DATA, beneficiaryAccountNumber: '', routingCodeValue1: '' } }, 422, 'recipient_invalid', ['/data/beneficiaryAccountNumber', '/data/routingCodeValue1']], // prettier-ignore
    ])(
      'When it is added with %s Then each field is named, and nothing is kept',
      async (_, body, status, reason, paths) => {
        // prettier-ignore
        const before = await newest();

        const answer = await send(INTERNATIONAL, body);

        expect(answer).toMatchObject({ status, body: { reason } });
        const { details } = answer.body as { details: { path: string; message: string }[] };
        expect(details.map(({ path }) => path).sort()).toEqual([...paths].sort());
        expect(answer.text).not.toContain('Asha');
        expect(answer.text).not.toContain('00601234567890');
        expect(await newest()).toBe(before);
      },
    );

    it('When the check digits of an IBAN are wrong Then the field is named', async () => {
      const german = { ...DATA, destinationCountry: 'DE', routingCodeType1: 'SWIFT', routingCodeValue1: 'DEUTDEFF' };
      const path = INTERNATIONAL.replace('IN&', 'DE&').replace('INR', 'EUR');

      expect(await send(path, { data: { ...german, beneficiaryAccountNumber: 'DE88370400440532013000' } })).toMatchObject({
        status: 422,
        body: { reason: 'recipient_invalid', details: [{ path: '/data/beneficiaryAccountNumber', reason: 'check_digits' }] },
      }); // prettier-ignore
      expect(await send(path, { data: { ...german, beneficiaryAccountNumber: 'DE89370400440532013000' } })).toMatchObject({
        status: 201,
        body: { edges: { bank: { swiftCode: 'DEUTDEFF' }, currency: { code: 'EUR' } } },
      }); // prettier-ignore
    });

    it.each([
      ['/recipients/international', 400, 'parameter_invalid'],
      [INTERNATIONAL.replace('LOCAL', 'local'), 400, 'parameter_invalid'],
      [`${INTERNATIONAL}&beneficiaryAccountType=Individual`, 400, 'parameter_unknown'],
      [INTERNATIONAL.replace('INR', 'CHF'), 404, 'corridor_not_found'],
      [INTERNATIONAL.replace('=IN&', '=ZZ&'), 404, 'corridor_not_found'],
    ])('When it is added at %s Then it is refused', async (path, status, reason) => {
      expect(await send(path, { data: DATA })).toMatchObject({ status, body: { reason } });
    });
  });

  describe('and an account of this service as a recipient', () => {
    const southwind = async () => {
      const client = new BankingClient({ baseUrl: service.url, token: () => service.tokenOf('eve@southwind.example') });
      const scope = { workspaceId: idOf(service.world, 'workspaces', 'Southwind Imports') as WorkspaceId };
      return (await client.listAccounts(scope)).items[0]!;
    };

    it('When it is another workspace’s Then nothing is told but that it is there', async () => {
      const { code: accountCode = '' } = await southwind();

      const { body, text, status } = await send('/recipients/internal', { accountCode });

      expect(status).toBe(201);
      expect(mistakesIn(body, 'Recipient')).toEqual([]);
      expect(body).toMatchObject({ name: accountCode, accountCode, saved: true, edges: {} });
      expect(text).not.toMatch(/Southwind|Main|USD/);
    });

    it('When it is one’s own Then its currency is told too', async () => {
      const own = (await view('Northwind Trading').accounts.listPage()).items.find(
        ({ alias }) => alias === 'Tokyo office',
      );
      const { code: accountCode = '' } = own ?? {};

      const { resource } = await view('Northwind Trading').recipients.addInternal({ accountCode, alias: 'Tokyo' });

      expect(resource).toMatchObject({ name: 'Tokyo', alias: 'Tokyo', edges: { currency: { code: 'JPY' } } });
    });

    it('When a name is given Then it is shown', async () => {
      const { code: accountCode = '' } = await southwind();

      const wish = { accountCode, name: 'Eve', alias: 'E', saved: false };
      expect((await view().recipients.addInternal(wish)).resource).toMatchObject({
        name: 'Eve',
        alias: 'E',
        saved: false,
      });
    });

    it.each([
      ['BA00000000000000', 422, 'recipient_invalid', ['/accountCode']],
      ['nw0000000001', 422, 'recipient_invalid', ['/accountCode']],
      ["' or 1=1 --", 422, 'recipient_invalid', ['/accountCode']],
      ['', 400, 'body_malformed', ['/accountCode']],
      ['a\0', 400, 'body_malformed', ['/accountCode']],
      [7, 400, 'body_malformed', ['/accountCode']],
      [null, 400, 'body_malformed', ['/accountCode']],
    ])('When the code is %j Then it is refused, and nothing is kept', async (accountCode, status, reason, paths) => {
      const before = await newest();

      const { body, ...answer } = await send('/recipients/internal', { accountCode });

      expect({ ...answer, body }).toMatchObject({ status, body: { reason } });
      expect((body as { details: { path: string }[] }).details.map(({ path }) => path)).toEqual(paths);
      expect(await newest()).toBe(before);
    });
  });
}
