import * as fc from 'fast-check';
import { type AccountId, parseAmount, type ProductId } from '@banking/domain';
import { post, postDeposits, verifyBooks } from '@banking/ledger';
import { SQLSTATE } from '@banking/postgres';
import { reasonOf, sql } from '@banking/postgres/testing';
import { openReading } from '../resources/reading.js';
import { expectWellFormed, orderWorld, type OrderWorld } from '../testing/order-world.js';
import { newAccountCode, openAccount } from './accounts.js';

let euro: ProductId;
let { world, service, ada, eve } = {} as OrderWorld;

beforeAll(async () => {
  ({ world, service, ada, eve } = await orderWorld());
});

afterAll(() => world.close());

const count = async () => (await service.listAccounts(ada, { limit: 500 })).items.length;

describe('accounts', () => {
  beforeAll(async () => {
    euro = (await service.listProducts({})).find(({ edges }) => edges.currency.code === 'EUR')!.id;
  });

  describe('a new account', () => {
    it('has a balance of 0, can be read and listed, and can be paid by its code', async () => {
      const { resource: account, isReplay } = await service.openAccount(ada, { productID: euro, alias: 'Fairs' });

      expect(isReplay).toBe(false);
      expectWellFormed(account);
      expect(account).toMatchObject({
        name: 'Northwind Trading',
        alias: 'Fairs',
        status: 'enabled',
        type: 'CACC',
        code: expect.stringMatching(/^BA[0-9]{16}$/),
        edges: { balances: [{ amount: 0 }], currency: { code: 'EUR' }, product: { id: euro } },
      });
      expect(await service.getAccount(ada, { accountId: account.id })).toEqual(account);
      expect((await service.listAccounts(ada)).items[0]).toEqual(account);
      const { rows } = await world.owner.query('select account_id from account_code where code = $1', [account.code]);
      expect(rows.map(({ account_id }) => Number(account_id))).toEqual([account.id]);
      expect(await verifyBooks(world.database, [ada.workspaceId])).toMatchObject({ findings: [] });
    });

    it('is not opened for an unknown product', async () => {
      const before = await count();

      expect(await reasonOf(service.openAccount(ada, { productID: 999_999 as ProductId }))).toBe('product_unavailable');

      expect(await count()).toBe(before);
    });

    it('is not found in another workspace', async () => {
      const { resource } = await service.openAccount(ada, { productID: euro });

      expect(await reasonOf(service.getAccount(eve, { accountId: resource.id }))).toBe('account_not_found');
      expect(await reasonOf(service.changeAccount(eve, { accountId: resource.id, status: 'disabled' }))).toBe(
        'account_not_found',
      );
      expect((await service.listAccounts(eve, { limit: 500 })).items.map(({ id }) => id)).not.toContain(resource.id);
    });

    it('does not make own accounts readable', async () => {
      const { rows } = await world.owner.query(
        `select id from account where kind <> 'customer' and workspace_id = $1`,
        [ada.workspaceId],
      );

      for (const { id } of rows) {
        expect(await reasonOf(service.getAccount(ada, { accountId: Number(id) as AccountId }))).toBe(
          'account_not_found',
        );
        expect(await reasonOf(service.changeAccount(ada, { accountId: Number(id) as AccountId, alias: 'Mine' }))).toBe(
          'account_not_found',
        );
      }
      expect(rows.length).toBeGreaterThan(0);
    });
  });

  describe('an idempotency key', () => {
    it('returns the stored response byte for byte to a repeated request, and makes nothing', async () => {
      const first = await service.openAccount(ada, { productID: euro, alias: 'Once' }, { idempotencyKey: 'once' });
      const before = await count();
      const again = await service.openAccount(ada, { alias: 'Once', productID: euro }, { idempotencyKey: 'once' });

      expect(again.isReplay).toBe(true);
      expect(JSON.stringify(again.resource)).toBe(JSON.stringify(first.resource));
      expect(await count()).toBe(before);
    });

    it('returns the stored response after the resource has changed', async () => {
      const { resource } = await service.openAccount(
        ada,
        { productID: euro, alias: 'Then' },
        { idempotencyKey: 'then' },
      );
      await service.changeAccount(ada, { accountId: resource.id, alias: 'Now' });

      expect(await service.openAccount(ada, { productID: euro, alias: 'Then' }, { idempotencyKey: 'then' })).toEqual({
        resource,
        isReplay: true,
      });
    });

    it('refuses another request', async () => {
      await service.openAccount(ada, { productID: euro, alias: 'One' }, { idempotencyKey: 'other' });

      expect(
        await reasonOf(service.openAccount(ada, { productID: euro, alias: 'Two' }, { idempotencyKey: 'other' })),
      ).toBe('idempotency_key_reused');
      expect(await reasonOf(service.openAccount(ada, { productID: euro }, { idempotencyKey: 'other' }))).toBe(
        'idempotency_key_reused',
      );
    });

    it('is separate in each workspace', async () => {
      const mine = await service.openAccount(ada, { productID: euro }, { idempotencyKey: 'same' });
      const theirs = await service.openAccount(eve, { productID: euro }, { idempotencyKey: 'same' });

      expect(theirs).toMatchObject({ isReplay: false });
      expect(theirs.resource.id).not.toBe(mine.resource.id);
    });

    it('makes one resource for twenty concurrent requests', async () => {
      const before = await count();

      const answers = await Promise.all(
        Array.from({ length: 20 }, () =>
          service
            .openAccount(ada, { productID: euro, alias: 'Race' }, { idempotencyKey: 'race' })
            .catch((error: { reason?: string }) => error.reason),
        ),
      );

      const made = answers.filter((answer) => typeof answer === 'object');
      expect(made.filter((answer) => typeof answer === 'object' && !answer.isReplay)).toHaveLength(1);
      expect(new Set(made.map((answer) => typeof answer === 'object' && answer.resource.id)).size).toBe(1);
      expect(
        answers.filter((answer) => typeof answer !== 'object').every((reason) => reason === 'idempotency_in_progress'),
      ).toBe(true);
      expect(await count()).toBe(before + 1);
    });

    it('is free after a refusal', async () => {
      const options = { idempotencyKey: 'refused' };
      expect(await reasonOf(service.openAccount(ada, { productID: 999_999 as ProductId }, options))).toBe(
        'product_unavailable',
      );

      expect(await service.openAccount(ada, { productID: euro }, options)).toMatchObject({ isReplay: false });
    });

    it('is new after 30 days, and other expired keys stay', async () => {
      const options = { idempotencyKey: 'old' };
      const first = await service.openAccount(ada, { productID: euro }, options);
      await service.openAccount(ada, { productID: euro }, { idempotencyKey: 'older' });
      await world.owner.query(
        `update idempotency set created_at = now() - interval '30 days 1 second' where key in ('old', 'older')`,
      );

      const second = await service.openAccount(ada, { productID: euro, alias: 'Other' }, options);

      expect(second.isReplay).toBe(false);
      expect(second.resource.id).not.toBe(first.resource.id);
      const { rows } = await world.owner.query<{ key: string }>(
        `select key from idempotency where key in ('old', 'older')`,
      );
      expect(rows.map(({ key }) => key).sort()).toEqual(['old', 'older']);
      expect(await service.openAccount(ada, { productID: euro, alias: 'Other' }, options)).toMatchObject({
        isReplay: true,
        resource: { id: second.resource.id },
      });
    });

    it('protects a valid stored response from changes in the database', async () => {
      await service.openAccount(ada, { productID: euro }, { idempotencyKey: 'protected' });
      const scope = { workspaces: [ada.workspaceId] };

      for (const change of ['delete from idempotency', `update idempotency set answer = '{}'`]) {
        await expect(world.database.pipeline(scope, [sql(`${change} where key = 'protected'`)])).rejects.toMatchObject({
          code: SQLSTATE.insufficientPrivilege,
        });
      }
      // By its policy, row-level security shows the function no answer to replace.
      const again = `select store_answers(array[(${ada.workspaceId}, 'openAccount', 'protected', sha256('x'), '{}')]::stored_answer[])`;
      await expect(world.database.pipeline(scope, [sql(again)])).rejects.toMatchObject({
        code: SQLSTATE.insufficientPrivilege,
      });

      const { rows } = await world.owner.query<{ answer: string }>(
        `select answer from idempotency where key = 'protected'`,
      );
      expect(rows).toHaveLength(1);
      expect(rows[0]?.answer).toContain('"edges"');
    });

    it.each(['', ' ', 'a b', 'é', 'a\n', 'x'.repeat(256)])('is refused if it is %j', async (idempotencyKey) => {
      expect(await reasonOf(service.openAccount(ada, { productID: euro }, { idempotencyKey }))).toBe(
        'idempotency_key_invalid',
      );
    });
  });

  describe('a change of an account', () => {
    it('keeps fields that are not given, and writes the audit trail', async () => {
      const { resource } = await service.openAccount(ada, { productID: euro, alias: 'Before' });
      const accountId = resource.id;

      expect(await service.changeAccount(ada, { accountId, alias: 'After' })).toMatchObject({
        alias: 'After',
        status: 'enabled',
      });
      expect(await service.changeAccount(ada, { accountId, status: 'disabled' })).toMatchObject({
        alias: 'After',
        status: 'disabled',
      });
      const last = await service.changeAccount(ada, { accountId, status: 'disabled' });

      expect(last).toEqual(await service.getAccount(ada, { accountId }));
      const { rows } = await world.owner.query(
        'select changed_by::int as by, before, after from account_change where account_id = $1 order by id',
        [accountId],
      );
      expect(rows).toEqual([
        { by: ada.actor, before: { alias: 'Before', status: 'enabled' }, after: { alias: 'After', status: 'enabled' } },
        { by: ada.actor, before: { alias: 'After', status: 'enabled' }, after: { alias: 'After', status: 'disabled' } },
      ]);
      await expect(world.owner.query('delete from account_change')).rejects.toThrow();
    });

    it('stops and resumes incoming money at once by its status', async () => {
      const { resource } = await service.openAccount(ada, { productID: euro });
      const accountId = resource.id;
      const movement = { currencyId: 978, amount: parseAmount('1.00', 'EUR'), type: 'funding' };
      const fund = async () => {
        const [outcome] = await post(
          world.books,
          [
            {
              entries: [
                {
                  workspaceId: ada.workspaceId,
                  status: 'completed',
                  legs: [
                    { ...movement, account: accountId, direction: 'credit' },
                    { ...movement, account: 'settlement', direction: 'debit' },
                  ],
                },
              ],
            },
          ],
          postDeposits,
        );
        return outcome?.refused?.reason;
      };

      await service.changeAccount(ada, { accountId, status: 'disabled' });
      expect(await fund()).toBe('account_disabled');
      await service.changeAccount(ada, { accountId, status: 'enabled' });
      expect(await fund()).toBeUndefined();
    });
  });
});

describe('the code of a new account', () => {
  beforeAll(async () => {
    euro = (await service.listProducts({})).find(({ edges }) => edges.currency.code === 'EUR')!.id;
  });

  const open = (...codes: string[]) => {
    const newCode = jest.fn(() => codes.shift() ?? 'none left');
    return openAccount(openReading(world.database), ada, { productID: euro }, {}, newCode).then(
      ({ resource }) => resource,
    );
  };

  it('is replaced if an account of any workspace has it', async () => {
    const { items } = await service.listAccounts(eve);
    await open('BA1100000000000011');

    const account = await open('BA1100000000000011', items[0]!.code!, 'BA1100000000000012');

    expect(account.code).toBe('BA1100000000000012');
  });

  it('is tried three times', async () => {
    await open('BA1100000000000013');
    const before = await count();
    const newCode = jest.fn(() => 'BA1100000000000013');

    await expect(openAccount(openReading(world.database), ada, { productID: euro }, {}, newCode)).rejects.toMatchObject(
      {
        code: SQLSTATE.uniqueViolation,
      },
    );

    expect(newCode).toHaveBeenCalledTimes(3);
    expect(await count()).toBe(before);
  });

  it('can be an older code with the id of the account', async () => {
    const { code = '' } = await open('BA81000000000021');
    const { resource } = await service.addInternalRecipient(eve, { accountCode: code });

    expect(resource).toMatchObject({ accountCode: 'BA81000000000021' });
  });

  it('is refused with the same message if unknown or mistyped', async () => {
    const { code = '' } = await open('BA1100000000000014');
    const refusalOf = (accountCode: string) =>
      service
        .addInternalRecipient(eve, { accountCode })
        .catch(({ reason, message, details }: Record<string, unknown>) => ({ reason, message, details }));

    const unknown = await refusalOf('BA1100000000009999');

    expect(unknown).toMatchObject({ reason: 'recipient_invalid' });
    expect(await refusalOf(`${code.slice(0, -1)}5`)).toEqual(unknown);
    expect(await refusalOf('not a code')).toEqual(unknown);
  });
});

const codes = fc.noShrink(fc.constant(undefined).map(newAccountCode));

/** ISO 13616: the first four characters to the end, letters as numbers, and the rest of a division by 97 is one. */
function checks(code: string): boolean {
  const moved = `${code.slice(4)}${code.slice(0, 4)}`.replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
  return BigInt(moved) % 97n === 1n;
}

describe('a new account code', () => {
  it('has valid check digits', () => {
    fc.assert(
      fc.property(codes, (code) => {
        expect(code).toMatch(/^BA[0-9]{16}$/);
        expect(checks(code)).toBe(true);
      }),
    );
  });

  it('has invalid check digits after a wrong digit', () => {
    fc.assert(
      fc.property(codes, fc.nat(15), fc.integer({ min: 1, max: 9 }), (code, at, by) => {
        const digit = (Number(code[at + 2]) + by) % 10;
        expect(checks(`${code.slice(0, at + 2)}${digit}${code.slice(at + 3)}`)).toBe(false);
      }),
    );
  });

  it('differs from its predecessor in the first and the last digits', () => {
    const digits = Array.from({ length: 1_000 }, () => newAccountCode().slice(4));
    const isNear = (code: string, at: number) =>
      code.slice(0, 8) === digits[at + 1]?.slice(0, 8) || code.slice(-8) === digits[at + 1]?.slice(-8);

    expect(new Set(digits).size).toBe(digits.length);
    expect(digits.filter(isNear)).toEqual([]);
  });

  it('has evenly distributed digits', () => {
    const digits = Array.from({ length: 5_000 }, () => newAccountCode().slice(4));
    for (let place = 0; place < 14; place += 1) {
      for (const digit of '0123456789') {
        const count = digits.filter((code) => code[place] === digit).length;
        // 500 are expected with a standard deviation of 21; ten of them are never reached.
        expect(Math.abs(count - 500)).toBeLessThan(210);
      }
    }
  });
});
