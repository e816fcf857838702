import type { Timestamp } from '@banking/domain';
import type { TransferContent } from '@banking/domain/proof';
import { keepRows } from '@banking/postgres/testing';
import { type BookedTransaction, bookedTransactions } from './booked-transactions.js';
import { hashOf } from './decide.js';
import {
  account,
  comeback,
  crossing,
  EUR,
  euros,
  funding,
  NORTH,
  openWorld,
  otherOwnLegs,
  payment,
  payout,
  plant,
  post,
  posted,
  proposal,
  settlement,
  SOUTH,
  USD,
  type World,
} from './testing/world.js';
import { CHECKS, INTERWORKSPACE_CHECK, verifyBooks } from './verify-books.js';
import { BALANCED_CHECK, HASH_CHECK, LEGS_CHECK, verifyTransaction } from './verify-chain.js';
import { verifyStored } from './verify-stored.js';

let world: World;
let ada: number;
let transactionId: number;
let restore: () => Promise<void>;
const verify = () => verifyBooks(world.database, [NORTH, SOUTH], { isWhole: true });

describe('verify books', () => {
  let bob: number;

  /** Of the payout: its transfer on Ada's account, and its transaction. */
  let transferId: number;

  beforeAll(async () => {
    world = await openWorld();
    ada = await account(world, '100.00');
    bob = await account(world, '0.00');
    const eve = { workspaceId: SOUTH, account: await account(world, '5.00', { workspaceId: SOUTH }) };
    const [outcome] = await post(world.books, [payout(ada, euros('10.00'), euros('0.50'))]);
    const transaction = outcome!.posted![0]!;
    [transactionId, transferId] = [transaction.id, transaction.transfers[0]!.id];
    await posted(
      world,
      payment(ada, bob, euros('20.00')),
      comeback(ada, euros('10.00')),
      crossing({ workspaceId: NORTH, account: ada }, eve, euros('1.00')),
      payment(bob, ada, euros('2.00')),
    );
    restore = await keepRows(world.owner);
  });

  afterEach(() => restore());
  afterAll(() => world.close());

  describe('intact books', () => {
    it('have no findings, and the rows are counted', async () => {
      const seen: number[] = [];
      const onWorkspace = (workspaceId: number) => seen.push(workspaceId);
      const proof = await verifyBooks(world.database, [NORTH, SOUTH], { onWorkspace });
      const counted = { workspaces: 2, accounts: 8, transactions: 8, transfers: 18 };
      expect(proof).toEqual({ ...counted, fxPositions: [], findings: [] });
      expect(seen).toEqual([NORTH, SOUTH]);
    });

    it('are verified beyond one range of transactions', async () => {
      await posted(world, ...Array.from({ length: 1_200 }, () => funding(bob, euros('0.01'))));
      // Autovacuum does this after some time.
      await world.owner.query('analyze');

      const proof = await verify();
      await plant(
        world,
        `update transaction set hash = decode(repeat('0', 64), 'hex') where id = (select max(id) from transaction)`,
      );
      const { findings } = await verify();

      expect(proof).toMatchObject({ transactions: 1_208, findings: [] });
      expect(findings).toHaveLength(2);
    });
  });

  describe('a planted fault', () => {
    const [BALANCED, LEGS, BALANCES, VERSIONS, BELOW_ZERO, CLOSED, HASHES] = CHECKS as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
    ];

    it.each<[string, () => [string, unknown[]], string[]]>([
      [
        'an amount is edited',
        () => ['update transfer set amount = amount + 1 where id = $1', [transferId]],
        [BALANCED, BALANCES, VERSIONS, HASHES],
      ],
      [
        'a side of our own is edited',
        () => [
          `update transfer set ${otherOwnLegs({ amount: '1' }, ['fee'])} where transaction_id = $1 and own_legs is not null`,
          [transactionId],
        ],
        [BALANCED, CLOSED, HASHES],
      ],
      [
        'two currencies make up for each other',
        () => [
          `update transfer set ${otherOwnLegs({ currency_id: '840' }, ['fee'])} where transaction_id = $1 and own_legs is not null`,
          [transactionId],
        ],
        [BALANCED, CLOSED, HASHES],
      ],
      [
        'a whole transaction is in another currency',
        () => [
          `update transfer set currency_id = 840, ${otherOwnLegs({ currency_id: '840' }, ['payout', 'fee'])} where transaction_id = $1`,
          [transactionId],
        ],
        [CLOSED, HASHES],
      ],
      [
        'a transaction goes the other way',
        () => [
          `update transfer set direction = case direction when 'debit' then 'credit' else 'debit' end,
             ${otherOwnLegs({ amount: '-o.amount' }, ['payout', 'fee'])} where transaction_id = $1`,
          [transactionId],
        ],
        [BALANCES, VERSIONS, CLOSED, HASHES],
      ],
      [
        'a transfer lies on another account',
        () => ['update transfer set account_id = $2, account_version = 3 where id = $1', [transferId, bob]],
        [BALANCES, VERSIONS, HASHES],
      ],
      [
        'a transaction loses its transfers',
        () => ['delete from transfer where transaction_id = $1', [transactionId]],
        [LEGS, BALANCES, VERSIONS, CLOSED, HASHES],
      ],
      [
        'a transaction without transfers is added',
        () => [
          `insert into transaction (workspace_id, status, hash) values (1, 'completed', decode(repeat('a', 64), 'hex'))`,
          [],
        ],
        [LEGS, HASHES],
      ],
      [
        'a balance is edited',
        () => ['update account set balance = balance + 1 where id = $1', [ada]],
        [BALANCES, CLOSED],
      ],
      ['a version is edited', () => ['update account set version = version + 1 where id = $1', [ada]], [BALANCES]],
      [
        'a version is left out',
        () => ['update transfer set account_version = 1000 where id = $1', [transferId]],
        [VERSIONS, HASHES],
      ],
      [
        'a balance after is edited',
        () => ['update transfer set balance_after = balance_after + 1 where id = $1', [transferId]],
        [VERSIONS, HASHES],
      ],
      [
        'a time of booking is edited',
        () => [`update transaction set created_at = created_at - interval '1 us' where id = $1`, [transactionId]],
        [HASHES],
      ],
      [
        'a transfer has another time than its transaction',
        () => [`update transfer set created_at = created_at - interval '1 us' where id = $1`, [transferId]],
        [HASHES],
      ],
      [
        'a customer account is below zero',
        () => ['update transfer set balance_after = -1 where id = $1', [transferId]],
        [VERSIONS, BELOW_ZERO, HASHES],
      ],
      [
        'both sides are deleted with their money',
        () => ['update transfer set own_legs = null where transaction_id = $1', [transactionId]],
        [BALANCED, CLOSED, HASHES],
      ],
      [
        'a hash is edited',
        () => [`update transaction set hash = decode(repeat('0', 64), 'hex') where id = $1`, [transactionId]],
        [HASHES],
      ],
      [
        'a transaction is said to bring another back',
        () => [
          'update transaction set return_of = $1 where id = (select max(id) from transaction where workspace_id = 1)',
          [transactionId],
        ],
        [HASHES],
      ],
      ['a type is edited', () => [`update transfer set type = 'return' where id = $1`, [transferId]], [HASHES]],
      ...['order_digest', 'conversion_digest'].map((column): [string, () => [string, unknown[]], string[]] => [
        `a transaction gets another ${column}`,
        () => [`update transaction set ${column} = decode(repeat('e', 64), 'hex') where id = $1`, [transactionId]],
        [HASHES],
      ]),
      [
        'the digest of a recipient is edited',
        () => [`update transfer set recipient_digest = decode(repeat('e', 64), 'hex') where id = $1`, [transferId]],
        [HASHES],
      ],
      ...['description', 'purpose', 'fee_amount', 'recipient_id'].map(
        (column): [string, () => [string, unknown[]], string[]] => [
          `the ${column} is edited`,
          () => [`update transfer set ${column} = '77' where id = $1`, [transferId]],
          [HASHES],
        ],
      ),
      [
        'balanced transfers are added to an old transaction',
        () => [
          `update transfer set own_legs = own_legs
             || row(nextval('transfer_id_seq'), own_legs[1].account_id, own_legs[1].currency_id, 'fee', 1)::own_leg
             || row(nextval('transfer_id_seq'), own_legs[1].account_id, own_legs[1].currency_id, 'fee', -1)::own_leg
           where transaction_id = $1 and own_legs is not null`,
          [transactionId],
        ],
        [HASHES],
      ],
      [
        'a head is edited',
        () => [`update account set head = decode(repeat('0', 64), 'hex') where id = $1`, [ada]],
        [HASHES],
      ],
    ])('is found where %s', async (_what, fault, checks) => {
      await plant(world, ...fault());

      const { findings } = await verify();

      expect(new Set(findings.map(({ check }) => check))).toEqual(new Set(checks));
      expect(new Set(findings.map(({ workspaceId }) => workspaceId))).toEqual(new Set([NORTH]));
    });

    it('is found by the next transaction of the account if the edited transaction is hashed again', async () => {
      await plant(world, `update transfer set type = 'gift' where transaction_id = $1`, [transactionId]);
      await hashAnew(transactionId);

      const { findings } = await verify();

      // Ada's next transaction contains the former hash. The later ones contain the hash of the next, which is unchanged.
      const detail = `transaction ${transactionId + 1} does not have its hash`;
      expect(findings).toEqual([{ check: HASHES, workspaceId: NORTH, detail }]);
    });

    it('is found by the heads of the accounts if it was the latest transaction', async () => {
      const { rows } = await world.owner.query<{ id: bigint }>('select max(id) as id from transaction');
      const latest = Number(rows[0]!.id);
      await plant(world, `update transfer set type = 'gift' where transaction_id = $1`, [latest]);
      await hashAnew(latest);

      const { findings } = await verify();

      expect(new Set(findings.map(({ detail }) => detail))).toEqual(
        new Set([ada, bob].map((id) => `account ${id} does not end its chain of hashes`)),
      );
    });
  });

  /** Recomputes the hash of an edited transaction, as an attacker who knows the algorithm could. */
  async function hashAnew(id: number): Promise<void> {
    const all: BookedTransaction[] = [];
    for await (const range of bookedTransactions(world.database, NORTH)) all.push(...range);
    const { content } = all.find(({ content: { transactionId: of } }) => of === id)!;
    await plant(world, `update transaction set hash = decode($2, 'hex') where id = $1`, [id, hashOf(content)]);
  }
});

type Row = readonly [currencyCode: string, direction: 'debit' | 'credit', amount: string];

const contentOf = (rows: readonly Row[]): BookedTransaction['content'] => ({
  ...{
    workspaceId: 1,
    transactionId: 7,
    createdAt: '2026-11-21T09:30:00.000000Z' as Timestamp,
    previous: [],
  },
  transfers: rows.map(([currencyCode, direction, amount], index): TransferContent => ({
    ...{ id: index + 1, accountId: 100 + index, type: 'internal' },
    ...{ currencyCode, direction, amount },
  })),
});

/** The findings of a transaction of these transfers, with its own hash unless another is given. */
function findingsOf(rows: readonly Row[], hash?: string): string[][] {
  const findings: string[][] = [];
  const content = contentOf(rows);
  const transaction = { content, hash: hash ?? hashOf(content), isOfOneTime: true } as BookedTransaction;
  verifyTransaction(transaction, (check, detail) => findings.push([check, detail]));
  return findings;
}

describe('verifyTransaction', () => {
  it('finds nothing where each currency is in balance and the hash is that of the content', () => {
    expect(
      findingsOf([
        ['EUR', 'debit', '100'],
        ['EUR', 'credit', '60'],
        ['EUR', 'credit', '40'],
        ['USD', 'credit', '117'],
        ['USD', 'debit', '117'],
      ]),
    ).toEqual([]);
  });

  it('names each currency that is out of balance, with credits less debits', () => {
    expect(
      findingsOf([
        ['EUR', 'debit', '100'],
        ['EUR', 'credit', '99'],
        ['USD', 'credit', '1'],
        ['GBP', 'credit', '5'],
        ['GBP', 'debit', '5'],
      ]),
    ).toEqual([
      [BALANCED_CHECK, 'transaction 7 is out of balance by -1 in EUR'],
      [BALANCED_CHECK, 'transaction 7 is out of balance by 1 in USD'],
    ]);
  });

  it('finds a transaction without transfers', () => {
    expect(findingsOf([])).toEqual([[LEGS_CHECK, 'transaction 7 has no transfers']]);
  });

  it('finds another hash', () => {
    const rows: readonly Row[] = [
      ['EUR', 'debit', '1'],
      ['EUR', 'credit', '1'],
    ];

    expect(findingsOf(rows, '0'.repeat(64))).toEqual([[HASH_CHECK, 'transaction 7 does not have its hash']]);
  });
});

describe('verify details', () => {
  const [BALANCED, LEGS, BALANCES, VERSIONS, , CLOSED] = CHECKS as readonly string[];

  beforeAll(async () => {
    world = await openWorld();
    ada = await account(world, '100.00');
    const eve = { workspaceId: SOUTH, account: await account(world, '5.00', { workspaceId: SOUTH }) };
    const proposals = [
      payout(ada, euros('10.00'), euros('0.50')),
      crossing({ workspaceId: NORTH, account: ada }, eve, euros('1.00')),
    ];
    const [paid] = await post(world.books, proposals);
    transactionId = paid!.posted![0]!.id;
    restore = await keepRows(world.owner);
  });

  afterEach(() => restore());
  afterAll(() => world.close());

  const verify = (isWhole = false) => verifyBooks(world.database, [NORTH, SOUTH], { isWhole });

  describe('a finding of verifyBooks', () => {
    it('names the currency and the sum where the books of a workspace do not close', async () => {
      await plant(
        world,
        `update transfer set ${otherOwnLegs({ amount: 'o.amount + 7' }, ['fee'])} where transaction_id = $1 and own_legs is not null`,
        [transactionId],
      );

      const { findings } = await verify();

      expect(findings).toContainEqual({ check: CLOSED, workspaceId: NORTH, detail: `currency ${EUR} is out by 7` });
      expect(findings).toContainEqual({
        ...{ check: BALANCED, workspaceId: NORTH },
        detail: `transaction ${transactionId} is out of balance by 7 in EUR`,
      });
    });

    it.each<[string, () => Promise<number>, (id: number) => string]>([
      [
        'a transfer is on an account of our own',
        () => settlement(world),
        (id) => `update transfer set account_id = ${id} where transaction_id = $1 and type = 'fee'`,
      ],
      [
        'a leg of our own is on the account of a customer',
        async () => ada,
        (id) =>
          `update transfer set ${otherOwnLegs({ account_id: `${id}` }, ['fee'])} where transaction_id = $1 and own_legs is not null`,
      ],
    ])('names the account where %s', async (_what, accountOf, fault) => {
      const id = await accountOf();
      await plant(world, fault(id), [transactionId]);

      const detail = `account ${id} has transfers that do not fit its kind`;
      expect((await verify()).findings).toContainEqual({ check: VERSIONS, workspaceId: NORTH, detail });
      const stored = await verifyStored(world.database, [{ workspaceId: NORTH, transactionIds: [transactionId] }]);
      expect(stored).toContainEqual({ check: VERSIONS, workspaceId: NORTH, detail });
    });

    it('is between workspaces only where all of them are verified', async () => {
      await plant(world, `${SETTLED}; ${MORE_IN_SOUTH}`);

      const of = async (isWhole: boolean) =>
        (await verify(isWhole)).findings.filter(({ check }) => check === INTERWORKSPACE_CHECK).length;

      expect([await of(false), await of(true)]).toEqual([0, 2]);
    });
  });

  describe('a finding of verifyStored', () => {
    it('names each transaction that is not stored', async () => {
      expect(
        await verifyStored(world.database, [
          { workspaceId: NORTH, transactionIds: [transactionId, 900_001] },
          { workspaceId: SOUTH, transactionIds: [900_002] },
        ]),
      ).toEqual([
        { check: LEGS, workspaceId: NORTH, detail: 'transaction 900001 is not stored' },
        { check: LEGS, workspaceId: SOUTH, detail: 'transaction 900002 is not stored' },
      ]);
    });

    it('names a transaction whose content cannot be hashed', async () => {
      await plant(
        world,
        `update transfer set recipient_id = 9007199254740993, recipient_digest = sha256('') where transaction_id = $1`,
        [transactionId],
      );

      expect(await verifyStored(world.database, [{ workspaceId: NORTH, transactionIds: [transactionId] }])).toEqual([
        {
          check: CHECKS[6],
          workspaceId: NORTH,
          detail: `transaction ${transactionId} has no content that can be hashed`,
        },
      ]);
    });

    it('names an account whose balance is not that of its last transfer', async () => {
      await plant(world, 'update account set balance = balance + 1 where id = $1', [ada]);

      const found = await verifyStored(world.database, [{ workspaceId: NORTH, transactionIds: [transactionId] }]);

      expect(found).toEqual([
        {
          check: BALANCES,
          workspaceId: NORTH,
          detail: expect.stringContaining(`account ${ada} holds 8851 at version 4`),
        },
      ]);
    });
  });
});

/** Of both legs of a payment that arrived in the other workspace. */
const SIDE = `(select transaction_id from leg t join account a on a.id = t.account_id and a.kind = 'interworkspace' where t.workspace_id = 2)`;
const MORE_IN_SOUTH = `update transfer set amount = amount + 1, ${otherOwnLegs({ amount: 'o.amount - 1' }, ['internal'])} where transaction_id = ${SIDE}`;

/** A time is settled when a second has passed. */
const SETTLED = `update transfer set created_at = created_at - interval '2 seconds'`;

describe('verify interworkspace', () => {
  beforeAll(async () => {
    world = await openWorld();
    ada = await account(world, '100.00');
    const eve = { workspaceId: SOUTH, account: await account(world, '5.00', { workspaceId: SOUTH }) };
    await posted(world, crossing({ workspaceId: NORTH, account: ada }, eve, euros('1.00')));
    restore = await keepRows(world.owner);
  });

  afterEach(() => restore());
  afterAll(() => world.close());

  describe('a payment between workspaces whose sides disagree', () => {
    beforeEach(() => plant(world, MORE_IN_SOUTH));

    it('is found with both transactions if all workspaces are verified', async () => {
      await plant(world, SETTLED);
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
});
