import type { FundingRow } from '@banking/operations/provisioning';
import { World } from './testing/world.js';

const world = new World();

beforeAll(() => world.openDemo());
afterAll(() => world.close());

async function accountOf(name: string): Promise<string> {
  const { accounts } = await world.json<{ accounts: Record<string, number> }>('demo');
  return String(accounts[name]);
}

const count = async () => Number((await world.query('select count(*) as n from transfer'))[0]?.n);

describe('banking fund', () => {
  it('books money on the account of any workspace, with the reference of the sender', async () => {
    const account = await accountOf('Southwind Imports USD');

    const booked = await world.json<FundingRow>('fund', account, '1250.5', '--reference', 'Invoice 4711');

    expect(booked).toMatchObject({
      workspace: 'Southwind Imports',
      currency: 'USD',
      isReplay: false,
      transfer: { amount: '125050', type: 'funding', direction: 'credit', description: 'Invoice 4711' },
    });
    expect(booked.transfer.edges.balance?.amount).toBe(31_125_050);
    expect(booked.transfer.edges.transaction?.status).toBe('completed');
    expect((await world.run(['verify'])).exitCode).toBe(0);
  });

  it.each([
    [
      'Northwind Trading JPY',
      '1250',
      /1250 JPY on account \d+ of workspace 1, Northwind Trading. The balance after it is 12001250 JPY/,
    ],
    ['Northwind Trading KWD', '0.250', /0\.250 KWD on account \d+ .* The balance after it is 15500\.500 KWD/],
  ])('reads and prints amounts in the decimals of %s (%s)', async (name, amount, sentence) => {
    const { exitCode, stdout, stderr } = await world.run(['fund', await accountOf(name), amount]);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(sentence);
  });

  it('books once for the same key', async () => {
    const args = ['fund', await accountOf('Southwind Imports USD'), '10.00', '--key', '20261121-17'];
    const first = await world.json<FundingRow>(...args);
    const before = await count();

    const again = await world.run(args);

    expect(again.stdout).toContain(`Booked before: transfer ${first.transfer.id}, `);
    expect(await count()).toBe(before);
    expect((await world.run([...args, '--reference', 'Other'])).stderr).toMatch(/idempotency key was used for another/);
  });

  it.each([
    ['of the workspace', 'Northwind Trading GBP', /idempotency key was used for another/],
    ['of another workspace', 'Southwind Imports USD', /The key has booked money in another workspace/],
  ])('books the money of a key on no second account %s', async (_place, name, message) => {
    const [account, other] = [await accountOf('Northwind Trading EUR'), await accountOf(name)];
    expect((await world.run(['fund', account, '10', '--key', name.replaceAll(' ', '-')])).exitCode).toBe(0);
    const before = await count();

    expect(await world.run(['fund', other, '10', '--key', name.replaceAll(' ', '-')])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(message) as unknown,
    });
    expect(await count()).toBe(before);
  });

  it.each([
    ['1250.005', /at most 2 decimals, not 3/],
    ['0.00', /more than zero/],
    ['90071992547409.92', /would exceed the limit of 9007199254740991/],
  ])('refuses the amount %s, and books nothing', async (amount, why) => {
    const account = await accountOf('Southwind Imports USD');
    const before = await count();

    const { exitCode, stdout, stderr } = await world.run(['fund', account, amount]);

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(why);
    expect(await count()).toBe(before);
  });

  it('refuses an unknown account and an account of the bank', async () => {
    const [own] = await world.query(`select id from account where kind = 'settlement' limit 1`);

    for (const id of ['987654', String(own?.id)]) {
      expect((await world.run(['fund', id, '1.00'])).stderr).toBe(`There is no account ${id}.\n`);
    }
  });
});
