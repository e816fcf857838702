import { SQLSTATE } from '@banking/postgres';
import type { AddInternationalRecipientInput, RecipientId, RecipientSchema, Scope } from '@banking/domain';
import { type PayoutDestination, SANDBOX_ROUTING } from '@banking/payouts';
import { checkRecipient, type CorridorRoute, recipientSchemasOf } from '@banking/reference';
import { sql, reasonOf } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { expectWellFormed } from '../testing/order-world.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
let { world, service, ada, eve } = {} as OrderWorld;

beforeAll(async () => {
  ({ world, service, ada, eve } = await orderWorld());
});
afterAll(() => world.close());

const ASHA: AddInternationalRecipientInput = {
  countryCode: 'in',
  currencyCode: 'inr',
  payoutMethod: 'LOCAL',
  data: {
    beneficiaryName: 'Asha Rao',
    destinationCountry: 'IN',
    beneficiaryAccountType: 'Individual',
    beneficiaryCountryCode: 'IN',
    beneficiaryAccountNumber: '00601234567890',
    routingCodeType1: 'IFSC',
    routingCodeValue1: 'ICIC0000001',
  },
};
const add = async (scope: Scope = ada) => (await service.addInternationalRecipient(scope, ASHA)).resource;
const rows = async () => (await world.owner.query('select id from recipient')).rowCount;

describe('an international recipient', () => {
  it('has the corridor and its currency', async () => {
    const recipient = await add();

    expectWellFormed(recipient);
    const { rows: kept } = await world.owner.query(
      `select r.kind, r.currency_id, k.destination_country, k.payout_method, k.beneficiary_account_type
       from recipient r join corridor k on k.id = r.corridor_id where r.id = $1`,
      [recipient.id],
    );
    expect(kept).toEqual([
      {
        kind: 'international',
        currency_id: 356,
        destination_country: 'IN',
        payout_method: 'LOCAL',
        beneficiary_account_type: 'Individual',
      },
    ]);
    expect(await service.getRecipient(ada, { recipientId: recipient.id })).toEqual(recipient);
  });

  it('is not stored with invalid details, and the key is free', async () => {
    const before = await rows();
    const options = { idempotencyKey: 'wrong' };
    const wrong = { ...ASHA, data: { ...ASHA.data, beneficiaryAccountNumber: '1' } };

    expect(await reasonOf(service.addInternationalRecipient(ada, wrong, options))).toBe('recipient_invalid');

    expect(await rows()).toBe(before);
    expect(await service.addInternationalRecipient(ada, ASHA, options)).toMatchObject({ isReplay: false });
  });

  it('can be added for a closed corridor', async () => {
    await world.owner.query(`update corridor set enabled = false where destination_country = 'IN'`);

    expect(await add()).toMatchObject({ name: 'Asha Rao' });
    await world.owner.query(`update corridor set enabled = true where destination_country = 'IN'`);
  });

  it('is added once for twenty concurrent requests with one key', async () => {
    const before = (await rows()) ?? 0;

    await Promise.all(
      Array.from({ length: 20 }, () =>
        service.addInternationalRecipient(ada, ASHA, { idempotencyKey: 'race' }).catch(() => undefined),
      ),
    );

    expect(await rows()).toBe(before + 1);
  });

  it('leaves a hash of its details in the key', async () => {
    await service.addInternationalRecipient(ada, ASHA, { idempotencyKey: 'hashed' });

    const { rows: kept } = await world.owner.query<Record<string, unknown>>(
      `select operation, key, encode(fingerprint, 'escape') as fingerprint from idempotency where key = 'hashed'`,
    );
    expect(kept).toHaveLength(1);
    expect(JSON.stringify(kept)).not.toMatch(/Asha|00601234567890/);
  });
});

describe('a recipient of a payment network that requires a town', () => {
  const rails = { ...SANDBOX_ROUTING, needsPostalAddress: ({ country }: PayoutDestination) => country === 'IN' };
  const demanding = () => new LedgerBankingService(world.database, world.books, { rails });
  const query = { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' };
  const requiredBy = async (schemas: Promise<readonly RecipientSchema[]>) =>
    (await schemas).map(({ required }) => required.includes('beneficiaryTownName'));

  it('has the town in its schema as a required field, and nowhere else', async () => {
    expect(await requiredBy(demanding().listRecipientSchemas({}, query))).toEqual([true, true]);
    expect(await requiredBy(service.listRecipientSchemas({}, query))).toEqual([false, false]);
    const german = { countryCode: 'DE', currencyCode: 'EUR', payoutMethod: 'SWIFT' };
    expect(new Set(await requiredBy(demanding().listRecipientSchemas({}, german)))).toEqual(new Set([false]));
  });

  it('is added with it only', async () => {
    const town = { ...ASHA, data: { ...ASHA.data, beneficiaryTownName: 'Pune' } };

    await expect(demanding().addInternationalRecipient(ada, ASHA)).rejects.toMatchObject({
      details: [{ path: '/data/beneficiaryTownName', reason: 'required' }],
    });
    const { resource } = await demanding().addInternationalRecipient(ada, town);

    expect(resource.edges.beneficiary?.data).toEqual(town.data);
    expect(await service.getRecipient(ada, { recipientId: resource.id })).toEqual(resource);
  });
});

describe('a recipient to whom a payment network can carry no payment', () => {
  const FAULT = 'The name of the recipient cannot be written in Latin letters. Write it so.';

  it('is refused', async () => {
    const rails = { ...SANDBOX_ROUTING, faultOf: jest.fn().mockReturnValue(FAULT) };
    const demanding = new LedgerBankingService(world.database, world.books, { rails });

    await expect(demanding.addInternationalRecipient(ada, ASHA)).rejects.toMatchObject({
      reason: 'recipient_invalid',
      message: FAULT,
    });

    expect(rails.faultOf).toHaveBeenCalledWith(
      { country: 'IN', currency: 'INR', payoutMethod: 'LOCAL' },
      {
        ...{ name: ASHA.data.beneficiaryName, account: ASHA.data.beneficiaryAccountNumber, bankCountry: 'IN' },
        routing: { type: ASHA.data.routingCodeType1, code: ASHA.data.routingCodeValue1 },
      },
    );
  });
});

describe('the recipients of the demo data', () => {
  it('are valid for their corridors', async () => {
    const { rows: kept } = await world.owner.query<CorridorRoute & { data: object }>(
      `select k.destination_country as "destinationCountry", c.code as "destinationCurrency", k.payout_method as "payoutMethod",
              k.beneficiary_account_type as "beneficiaryAccountType", k.routing_code_type as "routingCodeType", n.data
       from recipient r join beneficiary n on n.recipient_id = r.id
       join corridor k on k.id = r.corridor_id join currency c on c.id = r.currency_id`,
    );

    expect(kept.length).toBeGreaterThan(1);
    for (const { data, ...corridor } of kept) expect(checkRecipient(recipientSchemasOf([corridor]), data)).toEqual([]);
  });
});

describe('a deleted recipient', () => {
  it('stays in its transfers, which can be filtered by it', async () => {
    const recipientId = world.demo.recipients['internal'] as RecipientId;
    const before = await service.listTransfers(ada, { recipientId });
    expect(before.items.length).toBeGreaterThan(0);

    await service.deleteRecipient(ada, { recipientId });

    expect(await reasonOf(service.getRecipient(ada, { recipientId }))).toBe('recipient_not_found');
    const after = await service.listTransfers(ada, { recipientId });
    expect(after.items.map(({ id, edges }) => [id, edges.recipient?.id])).toEqual(
      before.items.map(({ id }) => [id, recipientId]),
    );
  });

  it('cannot be restored in the database', async () => {
    const { id } = await add();
    await service.deleteRecipient(ada, { recipientId: id });
    const back = sql('update recipient set forgotten_at = null where id = $1', id);

    await expect(world.database.pipeline({ workspaces: [ada.workspaceId] }, [back])).rejects.toThrow('append-only');
  });

  it('does not disturb the pages of a list', async () => {
    for (let more = 0; more < 6; more += 1) await add(eve);
    const whole = (await service.listRecipients(eve)).items.map(({ id }) => id);
    const first = await service.listRecipients(eve, { limit: 2 });

    await service.deleteRecipient(eve, { recipientId: whole[1]! });
    await service.deleteRecipient(eve, { recipientId: whole[3]! });
    await add(eve);
    const rest = await service.listRecipients(eve, { limit: 500, ...(first.next && { cursor: first.next }) });

    expect([...first.items, ...rest.items].map(({ id }) => id)).toEqual(whole.filter((id) => id !== whole[3]));
  });
});

describe('the constraints on recipients', () => {
  const scope = () => ({ workspaces: [ada.workspaceId] });

  it.each<[string, string, string]>([
    ['who is paid', `update recipient set account_code = 'x'`, SQLSTATE.insufficientPrivilege],
    ['the corridor', 'update recipient set corridor_id = null', SQLSTATE.insufficientPrivilege],
    ['the details', `update beneficiary set data = '{}'`, SQLSTATE.insufficientPrivilege],
    ['what was kept', 'delete from recipient', SQLSTATE.insufficientPrivilege],
  ])('refuse a change of %s', async (_, text, code) => {
    await expect(world.database.pipeline(scope(), [sql(text)])).rejects.toMatchObject({ code });
  });

  it.each<[string, string, string]>([
    ['one abroad without a corridor', `'international', 'A', 'B', null, 356, null`, SQLSTATE.checkViolation],
    [
      'one at home with a corridor',
      `'internal', 'A', 'B', null, 356, (select min(id) from corridor where destination_currency_id = 356)`,
      SQLSTATE.checkViolation,
    ],
    [
      'a corridor in another currency',
      `'international', 'A', 'B', null, 978, (select min(id) from corridor where destination_currency_id = 356)`,
      SQLSTATE.foreignKeyViolation,
    ],
    ['no name', `'internal', '', 'B', null, 356, null`, SQLSTATE.checkViolation],
    ['an alias without end', `'internal', 'A', 'B', repeat('a', 141), 356, null`, SQLSTATE.checkViolation],
  ])('refuse %s', async (_, values, code) => {
    const insert = `insert into recipient (workspace_id, kind, name, account_code, alias, currency_id, corridor_id) values ($1, ${values})`;

    await expect(world.database.pipeline(scope(), [sql(insert, ada.workspaceId)])).rejects.toMatchObject({ code });
  });

  it('refuse unknown details', async () => {
    const { resource } = await service.addInternalRecipient(ada, { accountCode: 'NW0000000001' });
    const write = (data: string) =>
      sql(
        'insert into beneficiary (workspace_id, recipient_id, data) values ($1, $2, $3::jsonb)',
        ada.workspaceId,
        resource.id,
        data,
      );

    for (const data of ['{"colour":"blue"}', '[]', '"Asha"', 'null']) {
      await expect(world.database.pipeline(scope(), [write(data)])).rejects.toMatchObject({
        code: SQLSTATE.checkViolation,
      });
    }
  });

  it('hide other workspaces by policy if the filter is removed', async () => {
    const { id } = await add();
    const open = sql('update recipient set alias = $2 where id = $1 returning id', id, 'Mine');

    expect(await world.database.pipeline({ workspaces: [eve.workspaceId] }, [open])).toEqual([[]]);
    expect(await reasonOf(service.changeRecipient(eve, { recipientId: id, alias: 'Mine' }))).toBe(
      'recipient_not_found',
    );
    expect(await reasonOf(service.deleteRecipient(eve, { recipientId: id }))).toBe('recipient_not_found');
    expect(await service.getRecipient(ada, { recipientId: id })).not.toHaveProperty('alias');
  });
});
