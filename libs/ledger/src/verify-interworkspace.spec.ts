import { crossing, proposal } from './testing/proposals.js';
import { account, EUR, euros, NORTH, openWorld, plant, posted, SOUTH, USD, type World } from './testing/world.js';
import { INTERWORKSPACE_CHECK, verifyBooks } from './verify-books.js';

let world: World;
let ada: number;

beforeEach(async () => {
  world = await openWorld();
  ada = await account(world, '100.00');
  const eve = { workspaceId: SOUTH, account: await account(world, '5.00', { workspaceId: SOUTH }) };
  await posted(world, crossing({ workspaceId: NORTH, account: ada }, eve, euros('1.00')));
});
afterEach(() => world.close());

const verify = () => verifyBooks(world.database, [NORTH, SOUTH], { isWhole: true });

describe('a payment between workspaces whose sides disagree', () => {
  const SIDE = `(select transaction_id from transfer t join account a on a.id = t.account_id and a.kind = 'interworkspace' where t.workspace_id = 2)`;

  beforeEach(() => plant(world, `update transfer set amount = amount + 1 where transaction_id = ${SIDE}`));

  it('is found with both transactions if all workspaces are verified', async () => {
    const { findings } = await verify();

    const { rows } = await world.owner.query<{ id: bigint }>(`select ${SIDE} as id`);
    const south = Number(rows[0]!.id);
    expect(findings.filter(({ check }) => check === INTERWORKSPACE_CHECK)).toEqual([
      {
        check: INTERWORKSPACE_CHECK,
        detail: 'interworkspace accounts are out by -1 EUR: 100 in workspace 1, -101 in workspace 2',
      },
      {
        check: INTERWORKSPACE_CHECK,
        detail: expect.stringMatching(/^interworkspace transfers of 2\S+Z in EUR do not/),
      },
    ]);
    const named = new RegExp(`100 in transaction ${south - 1} of workspace 1`);
    expect(findings.at(-1)?.detail).toMatch(named);
    expect(findings.at(-1)?.detail).toContain(`-101 in transaction ${south} of workspace 2`);
  });

  it('is not reported if one workspace is verified', async () => {
    expect((await verifyBooks(world.database, [NORTH])).findings).toEqual([]);
  });
});

describe('a conversion', () => {
  it('is reported as a position on the fx accounts, and is no finding', async () => {
    const said = { type: 'spot' };
    await posted(
      world,
      proposal([
        { ...said, account: ada, currencyId: EUR, direction: 'debit', amount: euros('1.00') },
        { ...said, account: 'fx', currencyId: EUR, direction: 'credit', amount: euros('1.00') },
        { ...said, account: 'fx', currencyId: USD, direction: 'debit', amount: euros('1.17') },
        { ...said, account: 'settlement', currencyId: USD, direction: 'credit', amount: euros('1.17') },
      ]),
    );

    const { fxPositions, findings } = await verify();

    expect(fxPositions).toEqual([
      { workspaceId: NORTH, currencyCode: 'EUR', amount: '100' },
      { workspaceId: NORTH, currencyCode: 'USD', amount: '-117' },
    ]);
    expect(findings).toEqual([]);
  });
});
