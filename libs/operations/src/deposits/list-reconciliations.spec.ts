import type { WorkspaceId } from '@banking/domain';
import { BANK_ACCOUNT, depositWorld, type DepositWorld } from '../testing/deposit-world.js';

let at: DepositWorld;

beforeAll(async () => {
  at = await depositWorld();
});
afterAll(() => at.close());
beforeEach(() => at.owner.query('delete from bank_reconciliation'));

const DIFFERENCE = {
  kind: 'entry_unknown',
  day: '2026-11-26',
  direction: 'credit',
  amount: '1250',
  reference: 'ref-1',
};
const RESULT = {
  ...{ from: '2026-11-01', to: '2026-11-26', openingBalance: '-100', closingBalance: '1150', unknownAmount: '1250' },
  ...{ differenceCount: 1, differences: [DIFFERENCE] },
};

/** As the worker stores it. */
const stored = (bankAccount: string, suspenseAccount: string | null, currency = 'EUR', result: object = RESULT) =>
  at.owner.query(
    `insert into bank_reconciliation (rail, bank_account, currency, suspense_account, compared_at, difference_count, result)
     values ('bank-a', $1, $2, $3, '2026-11-27T02:00:00Z', 1, $4)`,
    [bankAccount, currency, suspenseAccount, JSON.stringify(result)],
  );

const listed = (workspaceId: WorkspaceId) => at.service.listReconciliations({ workspaceId });

describe('the list of reconciliations', () => {
  it('has the bank accounts whose suspense account is in the workspace, with their currency', async () => {
    await stored(BANK_ACCOUNT, at.suspense.code);

    expect(await listed(at.north)).toEqual([
      {
        ...{ rail: 'bank-a', bankAccount: BANK_ACCOUNT, comparedAt: '2026-11-27T02:00:00.000000Z', ...RESULT },
        edges: { currency: expect.objectContaining({ id: 978, code: 'EUR', decimals: 2 }) as object },
      },
    ]);
  });

  it('never has one of another workspace, or of no workspace', async () => {
    const other = await at.open(at.south);
    await stored(BANK_ACCOUNT, at.suspense.code);
    await stored('OTHER', other.code);
    await stored('NONE', null);
    await stored('UNKNOWN', 'BA99000000000000');

    const shown = async (workspaceId: WorkspaceId) => (await listed(workspaceId)).map(({ bankAccount }) => bankAccount);
    expect(await shown(at.north)).toEqual([BANK_ACCOUNT]);
    expect(await shown(at.south)).toEqual(['OTHER']);
    expect(await shown(at.demo.workspaces['Ada personal'] as WorkspaceId)).toEqual([]);
  });

  it('finds a code that RAILS_FILE has in groups and in lower case', async () => {
    await stored(BANK_ACCOUNT, at.suspense.code.toLowerCase().replace(/(.{4})/g, '$1 '));

    expect(await listed(at.north)).toHaveLength(1);
  });

  it('has an account without a statement, in its order', async () => {
    const empty = { unknownAmount: '0', differenceCount: 0, differences: [] };
    await stored('B', at.suspense.code, 'USD', empty);
    await stored('A', at.suspense.code, 'EUR', empty);

    const [first, second] = await listed(at.north);
    expect([first?.bankAccount, second?.edges.currency.code]).toEqual(['A', 'USD']);
    expect(first).not.toHaveProperty('from');
  });
});
