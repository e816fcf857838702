import { BankingClient } from '@banking/client';
import type { AddInternationalRecipientInput, Recipient, RecipientId, WorkspaceId } from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, idOf, type Service } from '../service.js';
import { faultsIn } from './shapes.js';

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
    sendRequest(service, path, { as: ADA, workspace: workspace(), body, headers });
  const newest = async () => (await view().recipients.listPage({ limit: 1 })).items[0]?.id;
  const add = async (other: Partial<AddInternationalRecipientInput> = {}) =>
    (await view().recipients.addInternational({ ...INDIA, data: DATA, ...other })).resource;

  describe('POST /recipients/international', () => {
    it('stores valid details as sent, at its Location', async () => {
      const { status, headers, body } = await send(INTERNATIONAL, { data: DATA, alias: 'Asha' });

      const recipient = body as Recipient;
      expect(status).toBe(201);
      expect(faultsIn(recipient, 'Recipient')).toEqual([]);
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

    it('omits an unknown bank', async () => {
      const { edges } = await add({ data: { ...DATA, routingCodeValue1: 'ZZZZ0000001' } });

      expect(edges).not.toHaveProperty('bank');
    });

    it('replays the response for a repeated idempotency key and stores nothing', async () => {
      const key = { 'Idempotency-Key': `recipient-${workspace()}` };
      const first = await send(INTERNATIONAL, { data: DATA, alias: 'Once' }, key);
      const before = await newest();

      const again = await send(INTERNATIONAL, { alias: 'Once', data: DATA }, key);

      expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([201, first.text, 'true']);
      expect(await newest()).toBe(before);
      const other = { data: { ...DATA, beneficiaryName: 'Asha Roy' }, alias: 'Once' };
      expect(await send(INTERNATIONAL, other, key)).toMatchObject({
        status: 422,
        body: { reason: 'idempotency_key_reused' },
      });
      const elsewhere = INTERNATIONAL.replace('LOCAL', 'SWIFT');
      expect(await send(elsewhere, { data: DATA, alias: 'Once' }, key)).toMatchObject({
        status: 422,
        body: { reason: 'idempotency_key_reused' },
      });
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
      [
        'a prototype within data',
        `{"data":${JSON.stringify(DATA).replace('{', '{"__proto__":{"a":1},')}}`,
        400,
        'field_unknown',
        ['/data/__proto__'],
      ],
      [
        'a name that is a number',
        { data: { ...DATA, beneficiaryName: 7 } },
        422,
        'recipient_invalid',
        ['/data/beneficiaryName'],
      ],
      [
        'a name of two lines',
        { data: { ...DATA, beneficiaryName: 'A\nB' } },
        422,
        'recipient_invalid',
        ['/data/beneficiaryName'],
      ],
      [
        'another country',
        { data: { ...DATA, destinationCountry: 'DE' } },
        422,
        'recipient_invalid',
        ['/data/destinationCountry'],
      ],
      [
        'an IFSC in small letters',
        { data: { ...DATA, routingCodeValue1: 'icic0000001' } },
        422,
        'recipient_invalid',
        ['/data/routingCodeValue1'],
      ],
      [
        'no account',
        { data: { ...DATA, beneficiaryAccountNumber: undefined } },
        422,
        'recipient_invalid',
        ['/data/beneficiaryAccountNumber'],
      ],
      [
        'two faults',
        { data: { ...DATA, beneficiaryAccountNumber: '', routingCodeValue1: '' } },
        422,
        'recipient_invalid',
        ['/data/beneficiaryAccountNumber', '/data/routingCodeValue1'],
      ],
    ])('refuses a recipient with %s, names each field and stores nothing', async (_, body, status, reason, paths) => {
      const before = await newest();

      const response = await send(INTERNATIONAL, body);

      expect(response).toMatchObject({ status, body: { reason } });
      const { details } = response.body as { details: { path: string; message: string }[] };
      expect(details.map(({ path }) => path).sort()).toEqual([...paths].sort());
      expect(response.text).not.toContain('Asha');
      expect(response.text).not.toContain('00601234567890');
      expect(await newest()).toBe(before);
    });

    it('refuses an IBAN with wrong check digits and names the field', async () => {
      const german = { ...DATA, destinationCountry: 'DE', routingCodeType1: 'SWIFT', routingCodeValue1: 'DEUTDEFF' };
      const path = INTERNATIONAL.replace('IN&', 'DE&').replace('INR', 'EUR');

      expect(
        await send(path, { data: { ...german, beneficiaryAccountNumber: 'DE88370400440532013000' } }),
      ).toMatchObject({
        status: 422,
        body: {
          reason: 'recipient_invalid',
          details: [{ path: '/data/beneficiaryAccountNumber', reason: 'check_digits' }],
        },
      });
      expect(
        await send(path, { data: { ...german, beneficiaryAccountNumber: 'DE89370400440532013000' } }),
      ).toMatchObject({
        status: 201,
        body: { edges: { bank: { swiftCode: 'DEUTDEFF' }, currency: { code: 'EUR' } } },
      });
    });

    it.each([
      ['/recipients/international', 400, 'parameter_invalid'],
      [INTERNATIONAL.replace('LOCAL', 'local'), 400, 'parameter_invalid'],
      [`${INTERNATIONAL}&beneficiaryAccountType=Individual`, 400, 'parameter_unknown'],
      [INTERNATIONAL.replace('INR', 'CHF'), 404, 'corridor_not_found'],
      [INTERNATIONAL.replace('=IN&', '=ZZ&'), 404, 'corridor_not_found'],
    ])('refuses to add a recipient at %s', async (path, status, reason) => {
      expect(await send(path, { data: DATA })).toMatchObject({ status, body: { reason } });
    });
  });

  describe('POST /recipients/internal', () => {
    const southwind = async () => {
      const client = new BankingClient({ baseUrl: service.url, token: () => service.tokenOf('eve@southwind.example') });
      const { accounts } = client.workspace(idOf(service.world, 'workspaces', 'Southwind Imports'));
      return (await accounts.listPage()).items[0]!;
    };

    it('reveals of an account of another workspace only that it exists', async () => {
      const { code: accountCode = '' } = await southwind();

      const { body, text, status } = await send('/recipients/internal', { accountCode });

      expect(status).toBe(201);
      expect(faultsIn(body, 'Recipient')).toEqual([]);
      expect(body).toMatchObject({ name: accountCode, accountCode, saved: true, edges: {} });
      expect(text).not.toMatch(/Southwind|Main|USD/);
    });

    it('also shows the currency of an own account', async () => {
      const own = (await view('Northwind Trading').accounts.listPage()).items.find(
        ({ alias }) => alias === 'Tokyo office',
      );
      const { code: accountCode = '' } = own ?? {};

      const { resource } = await view('Northwind Trading').recipients.addInternal({ accountCode, alias: 'Tokyo' });

      expect(resource).toMatchObject({ name: 'Tokyo', alias: 'Tokyo', edges: { currency: { code: 'JPY' } } });
    });

    it('shows the given name', async () => {
      const { code: accountCode = '' } = await southwind();

      const input = { accountCode, name: 'Eve', alias: 'E', saved: false };
      expect((await view().recipients.addInternal(input)).resource).toMatchObject({
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
    ])('refuses the account code %j and stores nothing', async (accountCode, status, reason, paths) => {
      const before = await newest();

      const { body, ...response } = await send('/recipients/internal', { accountCode });

      expect({ ...response, body }).toMatchObject({ status, body: { reason } });
      expect((body as { details: { path: string }[] }).details.map(({ path }) => path)).toEqual(paths);
      expect(await newest()).toBe(before);
    });
  });
}

/** Reads, changes and deletion of stored recipients. */
export function keptRecipientsContract(provide: () => Service): void {
  const service = provide();
  const workspace = () => idOf(service.world, 'workspaces', 'Ada personal');
  const view = () =>
    new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(ADA) }).workspace(
      workspace() as WorkspaceId,
    );
  const add = async (alias = 'Asha') =>
    (await view().recipients.addInternational({ ...INDIA, data: DATA, alias })).resource;

  describe('stored recipients', () => {
    it('changes alias and saved, nothing else, and the filter reflects it', async () => {
      const recipient = await add('Before');
      const recipientId = recipient.id;

      const renamed = await view().recipients.change(recipientId, { alias: 'After' });
      const quiet = await view().recipients.change(recipientId, { saved: false });

      expect(renamed).toEqual({ ...recipient, alias: 'After', updatedAt: renamed.updatedAt });
      expect(quiet).toEqual({ ...renamed, saved: false, updatedAt: quiet.updatedAt });
      expect((await view().recipients.listPage({ saved: false, limit: 1 })).items).toEqual([quiet]);
      const saved = (await view().recipients.listPage({ saved: true, limit: 500 })).items;
      expect(saved.map(({ id }) => id)).not.toContain(recipientId);
    });

    it.each([
      ['name', 'Mallory'],
      ['accountCode', 'NW0000000001'],
      ['data', DATA],
      ['edges', {}],
    ])('refuses to change its %s', async (field, value) => {
      const { id } = await add();
      const options = { as: ADA, workspace: workspace(), method: 'PATCH', body: { [field]: value } };

      expect(await sendRequest(service, `/recipients/${id}`, options)).toMatchObject({
        status: 400,
        body: { reason: 'field_unknown' },
      });
    });

    it('deletes a recipient once, and it is not found afterwards', async () => {
      const { id } = await add();
      const path = `/recipients/${id}`;
      const options = { as: ADA, workspace: workspace() };

      const deleted = await sendRequest(service, path, { ...options, method: 'DELETE' });

      expect([deleted.status, deleted.text]).toEqual([204, '']);
      const notFound = { status: 404, body: { reason: 'recipient_not_found' } };
      expect(await sendRequest(service, path, options)).toMatchObject(notFound);
      expect(await sendRequest(service, path, { ...options, method: 'DELETE' })).toMatchObject(notFound);
      expect(await sendRequest(service, path, { ...options, method: 'PATCH', body: { alias: 'Back' } })).toMatchObject(
        notFound,
      );
      expect((await view().recipients.listPage({ limit: 500 })).items.map((recipient) => recipient.id)).not.toContain(
        id,
      );
      const { id: other } = await add();
      await view().recipients.delete(other);
      await expect(view().recipients.delete(other)).rejects.toMatchObject({ reason: 'recipient_not_found' });
    });

    it('gives one response for an unknown resource and a resource of another workspace', async () => {
      const { id } = await add();
      const strip = (text: string) => text.replace(/"requestId":"[^"]*"/, '');
      const elsewhere = { as: ADA, workspace: idOf(service.world, 'workspaces', 'Northwind Trading') };

      for (const method of ['GET', 'DELETE']) {
        const theirs = await sendRequest(service, `/recipients/${id}`, { ...elsewhere, method });
        const unknown = await sendRequest(service, '/recipients/999999', { ...elsewhere, method });
        expect([theirs.status, strip(theirs.text)]).toEqual([404, strip(unknown.text)]);
      }
      expect((await view().recipients.get(id as RecipientId)).id).toBe(id);
    });

    it.each([
      ['saved=yes', 'parameter_invalid', 'saved must be true or false.'],
      ['alias=Asha', 'parameter_unknown', 'alias is unknown: remove it, or correct its name.'],
    ])('refuses a list with %s', async (query, reason, message) => {
      const options = { as: ADA, workspace: workspace() };

      expect(await sendRequest(service, `/recipients?${query}`, options)).toMatchObject({
        status: 400,
        body: { reason, message },
      });
    });

    it('returns each recipient once over all pages', async () => {
      const whole = (await view().recipients.listPage({ limit: 500 })).items.map(({ id }) => id);
      const walked: number[] = [];
      let cursor: string | undefined;
      do {
        const { items, next } = await view().recipients.listPage({ limit: 2, cursor });
        walked.push(...items.map(({ id }) => id));
        cursor = next;
      } while (cursor !== undefined);

      expect(walked).toEqual(whole);
    });
  });
}
