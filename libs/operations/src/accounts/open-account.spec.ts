import { SQLSTATE } from '@banking/postgres';
import type { ProductId } from '@banking/domain';
import { openAccount } from './accounts.js';
import { openReading } from '../resources/reading.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
let { world, service, ada, eve } = {} as OrderWorld;
let euro: ProductId;

beforeAll(async () => {
  ({ world, service, ada, eve } = await orderWorld());
  euro = (await service.listProducts()).find(({ edges }) => edges.currency.code === 'EUR')!.id;
});
afterAll(() => world.close());

const count = async () => (await service.listAccounts(ada, { limit: 500 })).items.length;

describe('the code of a new account', () => {
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
