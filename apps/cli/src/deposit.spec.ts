import type { FundingRow } from '@banking/operations/provisioning';
import { World } from './testing/world.js';

const world = new World();
let account: string;
let suspense: string;
let entries = 0;

beforeAll(async () => {
  await world.openDemo();
  const { accounts } = await world.json<{ accounts: Record<string, number> }>('demo');
  suspense = String(accounts['Northwind Trading EUR']);
  account = String(accounts['Ada personal EUR']);
});
afterAll(() => world.close());

interface Listed {
  readonly id: number;
  readonly workspaceId: number;
  readonly status: string;
}

/** An unmatched deposit of 12.50, as the worker books it. */
async function unmatched(): Promise<string> {
  const { transfer } = await world.json<FundingRow>('fund', suspense, '12.50', '--reference', 'Invoice 4711');
  entries += 1;
  const [entry] = await world.query(
    `insert into bank_entry (rail, bank_account, identity, direction, amount, currency, status, outcome, party)
     values ('bank-a', 'DE1', $1, 'credit', 1250, 'EUR', 'booked', 'deposit', '{"name": "Ada Payer"}') returning id`,
    `entry-${entries}`,
  );
  const [deposit] = await world.query(
    `insert into deposit (workspace_id, account_id, currency_id, amount, status, reference, payer, entry_id, transaction_id)
     values (1, $1, 978, 1250, 'unmatched', 'Invoice 4711', '{"name": "Ada Payer"}', $2, $3) returning id`,
    ...[suspense, entry!['id'], transfer.edges.transaction?.id],
  );
  return String(deposit!['id']);
}

const listed = (...args: readonly string[]) => world.json<readonly Listed[]>('deposit', 'list', ...args);

describe('banking deposit list', () => {
  it('lists deposits by their status and workspace', async () => {
    const id = await unmatched();

    const { stdout } = await world.run(['deposit', 'list', '--status', 'unmatched']);

    expect(stdout).toMatch(/^Id +Workspace +Account +Amount +Status +Value date +Payer +Reference$/m);
    expect(stdout).toMatch(
      new RegExp(`^ *${id} +1 +${suspense} +12\\.50 EUR +unmatched +Ada Payer +Invoice 4711$`, 'm'),
    );
    expect(await listed('--status', 'unmatched', '--workspace', '2')).toEqual([]);
  });

  it('lists what waits for an operator', async () => {
    expect((await world.run(['deposit', 'list', '--waiting'])).stdout).toBe('No entry waits.\n');
    await world.query(
      `insert into bank_entry (rail, bank_account, identity, direction, amount, currency, status, remittance)
       values ('bank-a', 'DE1', 'waits', 'credit', 700, 'EUR', 'booked', 'Invoice 1')`,
    );

    const { stdout } = await world.run(['deposit', 'list', '--waiting']);

    expect(stdout).toMatch(/^ *\d+ +bank-a +DE1 +7\.00 EUR +credit +Invoice 1$/m);
    expect(stdout).not.toContain('There are more');
    expect((await world.run(['deposit', 'list', '--waiting', '--status', 'booked'])).exitCode).toBe(2);
  });

  it('lists debits and returns that match no payment, and says that there are more entries', async () => {
    await world.query(
      `insert into file_payment (rail, key, end_to_end_id, amount, currency, content)
       values ('bank-a', 'payout-1-1-0123456789ab', 'sent-1', 10002, 'EUR', '{}')`,
    );
    await world.query(
      `insert into bank_entry (rail, bank_account, identity, direction, amount, currency, status, end_to_end_id, return_reason)
       values ('bank-a', 'DE1', 'left', 'debit', 10002, 'EUR', 'booked', 'sent-1', null)`,
    );
    await world.query(
      `insert into bank_entry (rail, bank_account, identity, direction, amount, currency, status, end_to_end_id, return_reason)
       select 'bank-a', 'DE1', 'back-' || n, 'credit', 9502, 'EUR', 'booked', 'sent-1', 'AC04' from generate_series(1, 100) n`,
    );

    const { stdout } = await world.run(['deposit', 'list', '--waiting']);

    expect(stdout).toMatch(
      /^ *\d+ +bank-a +DE1 +100\.02 EUR +debit that matches no payment +payout-1-1-0123456789ab, not in the books$/m,
    );
    expect(stdout).toMatch(
      /^ *\d+ +bank-a +DE1 +95\.02 EUR +return that matches no payment +payout-1-1-0123456789ab, not in the books$/m,
    );
    expect(stdout).toMatch(/\nThere are more: a database lists its 100 oldest\. .+\n$/);
  });
});

describe('banking deposit assign', () => {
  it('gives the money to an account of another workspace', async () => {
    const id = await unmatched();
    const before = (await listed()).length;

    const run = await world.run([
      ...['deposit', 'assign', id, '--workspace', '1', '--account', account, '--note', 'the payer confirmed'],
    ]);

    expect(run.stderr).toBe('');
    expect(run.stdout).toMatch(
      new RegExp(
        `^Assigned deposit ${id} of workspace 1: its money is on account ${account} of workspace \\d, as deposit \\d+\\.$`,
        'm',
      ),
    );
    const all = await listed();
    expect(all).toHaveLength(before + 1);
    expect(all.find((deposit) => String(deposit.id) === id)?.status).toBe('assigned');
  });

  it('needs a note, an account in its currency, and an unmatched deposit', async () => {
    const id = await unmatched();
    const assign = (...args: readonly string[]) => world.run(['deposit', 'assign', id, '--workspace', '1', ...args]);
    const { accounts } = await world.json<{ accounts: Record<string, number> }>('demo');
    const dollars = String(accounts['Southwind Imports USD']);

    expect((await assign('--account', account)).exitCode).toBe(2);
    expect((await assign('--account', '987654', '--note', 'x')).stderr).toBe(
      'There is no account with this id or code.\n',
    );
    expect((await assign('--account', dollars, '--note', 'x')).stderr).toMatch(/another currency than the account/);
    expect((await assign('--account', account, '--note', 'x'.repeat(501))).stderr).toMatch(/501 characters/);
    await world.json('deposit', 'return', id, '--workspace', '1', '--note', 'x');
    expect((await assign('--account', account, '--note', 'x')).stderr).toMatch(
      /is neither unmatched nor one that was assigned to its account/,
    );
  });
});

describe('banking deposit return', () => {
  it('takes the money from the account, once', async () => {
    const id = await unmatched();
    const args = ['deposit', 'return', id, '--workspace', '1', '--note', 'ticket 4711'];

    const first = await world.run(args);
    const second = await world.run(args);

    expect(first.stdout).toMatch(
      new RegExp(
        `^Returned deposit ${id} of workspace 1: its money was taken by transaction \\d+\\. Send it back at the bank\\.$`,
        'm',
      ),
    );
    expect(second.stderr).toMatch(/has ended already/);
    expect((await world.run(['deposit', 'return', '987654', '--workspace', '1', '--note', 'x'])).stderr).toMatch(
      /^There is no deposit 987654 of workspace 1/,
    );
  });
});
