import type { FundingRow } from '@banking/operations';
import { World } from './testing/world.js';

const world = new World();

beforeAll(() => world.open());
afterAll(() => world.close());

async function accountOf(name: string): Promise<string> {
  const { accounts } = await world.json<{ accounts: Record<string, number> }>('demo');
  return String(accounts[name]);
}

const count = async () => Number((await world.query('select count(*) as n from transfer'))[0]?.n);

describe('Given money that has arrived', () => {
  it('When it is booked, Then it is on the account, whosever that is, with the words of its sender', async () => {
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
    ['Northwind Trading JPY', '1250', /1250 JPY on account \d+ of workspace 1, Northwind Trading. That left 12001250 JPY/], // prettier-ignore
    ['Northwind Trading KWD', '0.250', /0\.250 KWD on account \d+ .* That left 15500\.500 KWD/],
  ])('When it is on %s, Then %s is read and shown in its decimals', async (name, amount, sentence) => {
    const { exitCode, stdout, stderr } = await world.run(['fund', await accountOf(name), amount]);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(sentence);
  });

  it('When the same key is given again, Then it is booked once', async () => {
    const args = ['fund', await accountOf('Southwind Imports USD'), '10.00', '--key', '20261121-17'];
    const first = await world.json<FundingRow>(...args);
    const before = await count();

    const again = await world.run(args);

    expect(again.stdout).toContain(`Booked before: transfer ${first.transfer.id}, `);
    expect(await count()).toBe(before);
    expect((await world.run([...args, '--reference', 'Other'])).stderr).toMatch(/Idempotency-Key was used for another/);
  });

  it.each([
    ['1250.005', /at most 2 decimals, not 3/],
    ['1,250.00', /digits with a point/],
    ['ten', /digits with a point/],
    ['0', /more than zero/],
    ['0.00', /more than zero/],
    ['90071992547409.92', /larger than an account may hold/],
    ['99999999999999999999', /larger than the books can hold/],
  ])('When the amount is %s, Then a sentence says why not, and nothing is booked', async (amount, why) => {
    const account = await accountOf('Southwind Imports USD');
    const before = await count();

    const { exitCode, stdout, stderr } = await world.run(['fund', account, amount]);

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(why);
    expect(await count()).toBe(before);
  });

  it('When there is no such account, or it is one of our own, Then a sentence says so', async () => {
    const [own] = await world.query(`select id from account where kind = 'settlement' limit 1`);

    for (const id of ['987654', String(own?.id)]) {
      expect((await world.run(['fund', id, '1.00'])).stderr).toBe(`There is no account ${id}.\n`);
    }
  });
});
