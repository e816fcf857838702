import { postDeposits } from '@banking/ledger';
import { SQLSTATE } from '@banking/postgres';
import { hasForbiddenCharacter, type TransferAmount } from '@banking/domain';
import { sql, reasonOf } from '@banking/postgres/testing';
import { fundAccount } from './sandbox/sandbox.js';
import { LedgerBankingService } from './ledger-banking-service.js';
import { openReading } from './resources/reading.js';
import { orderWorld, type OrderWorld } from './testing/order-world.js';
import { placedOrder, placedRuns } from './testing/placed-order.js';
let { world, service, ada } = {} as OrderWorld;
let parties: { readonly accountId: number; readonly recipientId: number };

beforeAll(async () => {
  ({ world, service, ada } = await orderWorld());
  const [order] = (await service.listOrders(ada, {})).items;
  parties = { accountId: order!.edges.account!.id, recipientId: order!.edges.recipient!.id };
});
afterAll(() => world.close());

const scope = () => ({ workspaces: [ada.workspaceId] });
const CODE_POINTS = 0x10ffff;
const SURROGATES = { first: 0xd800, last: 0xdfff };

const ID = 900_001;

/** A value in a column of an order, in SQL. */
interface InOrder {
  readonly column: string;
  readonly value: string;
}

/** Places an order with it. */
const placeOrder = ({ column, value }: InOrder): string => {
  const { workspaceId } = ada;
  const texts = { description: 'Rent', textsSalt: '5a'.repeat(16), textsDigest: '5a'.repeat(32) };
  const order = JSON.stringify(placedOrder({ workspaceId, id: ID, ...parties, ...texts }));
  return `select place_orders(json_build_array('${order}'::jsonb || jsonb_build_object('${column}', ${value})),
     ${placedRuns({ workspaceId, id: ID, orderId: ID })})`;
};

/** Runs SQL without triggers, to make rows older than the rule. */
async function fromBefore(text: string, ...values: unknown[]): Promise<void> {
  await world.owner.query('set session_replication_role = replica');
  try {
    await world.owner.query(text, values);
  } finally {
    await world.owner.query('reset session_replication_role');
  }
}

describe('the check of free text in the database', () => {
  it('agrees with the program for each character', async () => {
    const { rows } = await world.owner.query<{ code: number }>(
      `select code from generate_series(1, $1::int) code
       where code not between $2 and $3 and has_forbidden_character('a' || chr(code) || 'b')`,
      [CODE_POINTS, SURROGATES.first, SURROGATES.last],
    );
    const expected: number[] = [];
    for (let code = 1; code <= CODE_POINTS; code += 1) {
      if (code >= SURROGATES.first && code <= SURROGATES.last) continue;
      if (hasForbiddenCharacter(String.fromCodePoint(code))) expected.push(code);
    }

    expect(expected.length).toBeGreaterThan(137_000);
    expect(rows.map(({ code }) => code)).toEqual(expected);
  });

  it.each<[string, string | InOrder]>([
    ['the name of an app', `insert into app (name) values ($1)`],
    ['the name of a workspace', `insert into workspace (app_id, name) select min(id), $1 from app`],
    ['another name of a workspace', `update workspace set name = $1 where id = (select min(id) from workspace)`],
    ['the alias of an account', `update account set alias = $1 where kind = 'customer'`],
    ['the alias of a recipient', `update recipient set alias = $1 where forgotten_at is null`],
    [
      'the name of a recipient',
      `insert into recipient (workspace_id, kind, name, account_code, currency_id) select min(id), 'internal', $1, 'A', 978 from workspace`,
    ],
    [
      'a detail of a beneficiary',
      `insert into beneficiary (workspace_id, recipient_id, data) select workspace_id, id, jsonb_build_object('beneficiaryName', $1::text) from recipient limit 1`,
    ],
    ['the description of an order', { column: 'description', value: '$1::text' }],
    ['the purpose code of an order', { column: 'purpose_code', value: '$1::text' }],
    ['the reference of an order', { column: 'external_reference', value: '$1::text' }],
    ['the metadata of an order', { column: 'metadata', value: `jsonb_build_object('a', $1::text)` }],
    ['a name in the metadata of an order', { column: 'metadata', value: `jsonb_build_object($1::text, 'a')` }],
  ])('refuses such a character in %s', async (_, where) => {
    const write = async (value: string) => {
      await world.owner.query('begin');
      await world.owner.query(`select set_config('app.workspaces', $1, true)`, [
        `{${Object.values(world.demo.workspaces).join()}}`,
      ]);
      try {
        return await world.owner.query(typeof where === 'string' ? where : placeOrder(where), [value]).then(
          () => undefined,
          (error: Error & { code?: string }) => `${error.code} ${error.message}`,
        );
      } finally {
        await world.owner.query('rollback');
      }
    };

    for (const value of ['Zq8\u0001', 'Zq8\n', 'Zq8\u007f', '\\\t', 'Zq8\u202e', 'Zq8\ue000', 'Zq8\u{e0041}']) {
      expect(await write(value)).toMatch(/^23514 text of \w+ has a control, format or private-use character$/);
    }
    for (const value of ['Zq8 Müller & 東京', String.raw`"Zq8\ \n \u0001`]) expect(await write(value)).toBeUndefined();
  });

  it('lets other fields of an older row change', async () => {
    const [recipient] = (await service.listRecipients(ada)).items;
    const [account] = (await service.listAccounts(ada)).items;
    const old = '👩\u200d🔧';
    await fromBefore('update recipient set alias = $1 where id = $2', old, recipient!.id);
    await fromBefore('update account set alias = $1 where id = $2', old, account!.id);

    expect(await service.getRecipient(ada, { recipientId: recipient!.id })).toMatchObject({ alias: old });
    expect(await service.changeRecipient(ada, { recipientId: recipient!.id, saved: false })).toMatchObject({
      alias: old,
      saved: false,
    });
    expect(await service.changeAccount(ada, { accountId: account!.id, status: 'disabled' })).toMatchObject({
      alias: old,
    });
    expect(await service.changeAccount(ada, { accountId: account!.id, status: 'enabled', alias: 'New' })).toMatchObject(
      { alias: 'New' },
    );
  });

  it('refuses a line break in a description', async () => {
    const [account] = (await service.listAccounts(ada)).items;
    const fund = (description: string) =>
      fundAccount(
        ...([world.books, openReading(world.database), ada] as const),
        { accountId: account!.id, amount: '100' as TransferAmount, description },
        {},
        postDeposits,
      );

    await expect(fund('Invoice\n4711')).rejects.toMatchObject({
      code: SQLSTATE.checkViolation,
      constraint: 'transfer_description',
    });
    expect(await fund('Invoice 4711')).toMatchObject({ resource: { description: 'Invoice 4711' } });
  });
});

describe('the details of an international recipient', () => {
  const input = (data: unknown) =>
    ({ countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL', data }) as Parameters<
      LedgerBankingService['addInternationalRecipient']
    >[1];

  it.each([
    ['a number beyond 2^53', { beneficiaryName: 2 ** 60 }],
    ['half a number', { beneficiaryName: 0.5 }],
    ['a lone surrogate', { beneficiaryName: 'a\ud800' }],
    ['a name with a lone surrogate', { '\ud800': 'a' }],
    ['a null', { beneficiaryName: null }],
    ['a list', { beneficiaryName: ['Asha'] }],
    ['NUL', { beneficiaryName: '\0' }],
    ['a list instead of an object', []],
    ['another prototype', JSON.parse('{"__proto__":{"beneficiaryName":"Asha"}}')],
  ])('are refused first if a value is %s', async (_, data) => {
    expect(await reasonOf(service.addInternationalRecipient(ada, input(data), { idempotencyKey: 'texts' }))).toBe(
      'recipient_invalid',
    );
    const kept = await world.database.pipeline(scope(), [sql(`select key from idempotency where key = 'texts'`)]);
    expect(kept).toEqual([[]]);
  });
});
