import { plant } from '@banking/postgres/testing';
import { minorUnits } from '@banking/domain';
import {
  booksAs,
  decide,
  type Leg,
  lockAndRead,
  type PostedTransaction,
  posting,
  postingValues,
  preparePosting,
  type Proposal,
  requirePosted,
  returnEntry,
} from '@banking/ledger';
import { API_ROLE, bind, OPERATOR_ROLE, RULE_VIOLATION, SQLSTATE, VERIFIER_ROLE, WORKER_ROLE } from '@banking/postgres';
import { verifyPlanted } from '../testing/order-world.js';
import { depositWorld, type DepositWorld, type OpenedAccount, type PlantedEntry } from '../testing/deposit-world.js';
import { DEPOSIT_CHECK } from '../verification/verify-payments.js';
import { depositProposal } from './book-deposits.js';

const EUR = 978;
const WRONG = { code: RULE_VIOLATION.wrongPosting };
const FORBIDDEN = { code: SQLSTATE.insufficientPrivilege };
const POST = posting('post_bank_deposits', '$3::bigint[]', '$4::text[]');
const REVERSE = posting('reverse_bank_deposits', '$3::bigint[]', '$4::bigint[]');

let at: DepositWorld;
let mine: OpenedAccount;
let theirs: OpenedAccount;

beforeAll(async () => {
  at = await depositWorld();
  mine = await at.open(at.north);
  theirs = await at.open(at.south);
});
afterAll(() => at.close());

type Write = (posted: readonly PostedTransaction[]) => Parameters<typeof bind>;

/** Writes what was decided on proposals as a role that chooses what it binds them to. */
async function writeAs(role: string, write: Write, ...proposals: readonly Proposal[]): Promise<void> {
  const books = booksAs(at.books, role);
  const prepared = await preparePosting(books, proposals);
  await books.database.transaction({ workspaces: [at.north, at.south] }, async (tx) => {
    const { context } = await lockAndRead(tx, prepared);
    const posted = proposals.flatMap((one) => requirePosted(decide(context, one)));
    await tx.commit([bind(...write(posted))]);
  });
}

const credit = ({ workspaceId, id }: OpenedAccount, amount = 1250n): Proposal =>
  depositProposal({ workspaceId, accountId: id, currencyId: EUR, amount, reference: null });

const bound =
  (entries: readonly number[], statuses: readonly (string | null)[] = entries.map(() => 'booked')): Write =>
  (posted) => [POST, ...postingValues(posted), entries, statuses];

const post = (entries: readonly number[], ...proposals: readonly Proposal[]) =>
  writeAs(WORKER_ROLE, bound(entries), ...proposals);

describe('a worker', () => {
  afterAll(() => at.expectInOrder());

  it.each<[string, PlantedEntry]>([
    ['is smaller', { amount: 1249 }],
    ['is greater', { amount: 1251 }],
    ['is in another currency', { currency: 'USD' }],
    ['is a debit', { direction: 'debit' }],
    ['is not booked', { status: 'pending' }],
    ['is a reversal', { isReversal: true }],
    ['is money of a payment that comes back', { returnReason: 'AC04' }],
    ['is in the books', { outcome: 'ignored' }],
  ])('posts no deposit for an entry that %s', async (_, planted) => {
    await expect(post([await at.entry(planted)], credit(mine))).rejects.toMatchObject(WRONG);
  });

  it('posts no deposit for an entry with the reference of a payment that left', async () => {
    await at.owner.query(
      `insert into file_payment (rail, key, end_to_end_id, amount, currency, content) values ('bank-a', 'payout-9', 'PAYOUT-9', 1250, 'EUR', '{}')`,
    );

    await expect(post([await at.entry({ endToEndId: 'PAYOUT-9' })], credit(mine))).rejects.toMatchObject(WRONG);
  });

  it('posts no deposit without an entry, for one that is not there, and for one of null', async () => {
    await expect(post([], credit(mine))).rejects.toMatchObject(WRONG);
    await expect(post([987_654], credit(mine))).rejects.toMatchObject(WRONG);
    await expect(post([null as never], credit(mine))).rejects.toMatchObject(WRONG);
  });

  it('posts no two deposits for one entry, and no deposit for two', async () => {
    const [entry, other] = [await at.entry(), await at.entry()];
    await expect(post([entry, entry], credit(mine), credit(theirs))).rejects.toMatchObject(WRONG);
    await expect(post([entry, other], credit(mine, 2500n))).rejects.toMatchObject(WRONG);
    await expect(post([entry], credit(mine), credit(theirs))).rejects.toMatchObject(WRONG);
    await post([entry], credit(mine));
    await expect(post([entry], credit(theirs))).rejects.toMatchObject(WRONG);
  });

  it('posts no entry to two accounts, although their sum is right', async () => {
    const legs = (account: Leg['account'], direction: Leg['direction'], amount: bigint) =>
      ({ account, direction, amount: minorUnits(amount), currencyId: EUR, type: 'funding' }) as Leg;
    const split: Proposal = {
      entries: [
        {
          ...{ workspaceId: at.north, status: 'completed' },
          legs: [
            legs(mine.id, 'credit', 1000n),
            legs(at.suspense.id, 'credit', 250n),
            legs('settlement', 'debit', 1250n),
          ],
        },
      ],
    };
    await expect(post([await at.entry()], split)).rejects.toMatchObject(WRONG);
  });

  it.each(['pending', 'assigned', 'returned', null])('posts no deposit that is %s', async (status) => {
    await expect(writeAs(WORKER_ROLE, bound([await at.entry()], [status]), credit(mine))).rejects.toMatchObject(WRONG);
  });

  it('takes no money back without the reversal of its entry', async () => {
    const entry = await at.entry({ remittance: mine.code, bankReference: 'A-1' });
    await at.work();
    const { id, transaction } = (await at.depositOf(entry))!;
    const back: Proposal = { entries: [await returnEntry(at.database, at.north, transaction!)] };
    const reversal = (more: PlantedEntry) =>
      at.entry({ direction: 'debit', isReversal: true, bankReference: 'A-1', ...more });
    const wrong = [
      await reversal({ amount: 1249 }),
      await reversal({ bankReference: 'A-2' }),
      await reversal({ isReversal: false }),
      await reversal({ direction: 'credit' }),
      await reversal({ status: 'pending' }),
      await reversal({ outcome: 'ignored' }),
      entry,
    ];
    for (const one of wrong) {
      const writing = writeAs(WORKER_ROLE, (posted) => [REVERSE, ...postingValues(posted), [id], [one]], back);
      await expect(writing).rejects.toMatchObject(WRONG);
    }
    await at.owner.query(`update bank_entry set outcome = 'ignored' where id = any($1) and outcome is null`, [wrong]);
  });

  it('takes no money of a deposit back by another return', async () => {
    const entry = await at.entry({ remittance: mine.code });
    await at.work();
    const { transaction } = (await at.depositOf(entry))!;
    const back: Proposal = { entries: [await returnEntry(at.database, at.north, transaction!)] };

    const writing = writeAs(WORKER_ROLE, (posted) => [posting('post_returns'), ...postingValues(posted)], back);

    await expect(writing).rejects.toMatchObject({ code: RULE_VIOLATION.returnWithoutReason });
  });

  it('posts and ends no deposit as an operator does', async () => {
    for (const call of [
      `select post_deposits('{}', '{}')`,
      `select return_deposit('{}', '{}', 1, 1, 'x')`,
      `select assign_deposit('{}', '{}', 1, 1, 'x')`,
    ]) {
      await expect(as(WORKER_ROLE, call)).rejects.toMatchObject(FORBIDDEN);
    }
  });
});

describe.each([API_ROLE, VERIFIER_ROLE])('the role %s', (role) => {
  it('posts no deposits and reads no entries of other workspaces', async () => {
    for (const call of [
      `select post_bank_deposits('{}', '{}', '{}', '{}')`,
      `select announce_deposits('{}', '{}', '{}')`,
      `select deposits_of_entries('{1}')`,
      'select party from bank_entry',
    ]) {
      await expect(as(role, call)).rejects.toMatchObject(FORBIDDEN);
    }
  });
});

describe.each([API_ROLE, WORKER_ROLE, OPERATOR_ROLE])('the table of deposits', (role) => {
  it(`is written by functions only, and not by ${role}`, async () => {
    for (const text of [
      `insert into deposit (workspace_id, account_id, currency_id, amount, status, payer, entry_id) values (1, 1, 978, 1, 'pending', '{}', 1)`,
      `update deposit set status = 'returned'`,
      'delete from deposit',
    ]) {
      await expect(as(role, text)).rejects.toMatchObject(FORBIDDEN);
    }
  });
});

async function as(role: string, text: string): Promise<void> {
  await at.owner.query(`begin; set local role ${role}; set local app.workspaces = '{${at.north}}'`);
  try {
    await at.owner.query(text);
  } finally {
    await at.owner.query('rollback');
  }
}

describe('the verification of deposits', () => {
  let id: number;
  let entry: number;
  let transaction: number;

  beforeAll(async () => {
    entry = await at.entry({ remittance: mine.code });
    await at.work();
    ({ id, transaction } = (await at.depositOf(entry)) as { id: number; transaction: number });
    await at.expectInOrder();
  });

  it.each<[string, () => string, boolean?]>([
    ['amount', () => `update deposit set amount = amount + 1 where id = ${id}`],
    ['account', () => `update deposit set account_id = ${at.suspense.id} where id = ${id}`],
    ['transaction', () => `update deposit set transaction_id = null, status = 'booked' where id = ${id}`, true],
    ['status', () => `update deposit set status = 'returned' where id = ${id}`],
    ['entry', () => `update bank_entry set outcome = null where id = ${entry}`],
    ['amount of its entry', () => `update bank_entry set amount = amount + 1 where id = ${entry}`],
    [
      'transaction of another kind',
      () => `update transfer set type = 'internal' where transaction_id = ${transaction}`,
    ],
  ] as const)('finds one with a wrong %s', async (_, text, dropsCheck = false) => {
    if (dropsCheck) await at.owner.query('alter table deposit drop constraint deposit_check');
    const { rows } = await at.owner.query<{ d: string; e: string; t: string }>(
      `select (select d::text from deposit d where id = $1) as d, (select e::text from bank_entry e where id = $2) as e,
              (select t::text from transfer t where transaction_id = $3) as t`,
      [id, entry, transaction],
    );
    await plant(at.owner, text());

    const findings = await verifyPlanted(at.database, Object.values(at.demo.workspaces));

    const { d, e, t } = rows[0]!;
    await plant(
      at.owner,
      `
      delete from deposit where id = ${id}; insert into deposit select (${quoted(d)}::deposit).*;
      delete from bank_entry where id = ${entry}; insert into bank_entry select (${quoted(e)}::bank_entry).*;
      delete from transfer where transaction_id = ${transaction}; insert into transfer select (${quoted(t)}::transfer).*`,
    );
    expect(findings.filter(({ check }) => check === DEPOSIT_CHECK.check)).toHaveLength(1);
    expect(await verifyPlanted(at.database, Object.values(at.demo.workspaces))).toEqual([]);
  });

  const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
});
