import type { AuditQuery, OrderQuery, RecipientQuery, Scope, TransferQuery } from '@banking/domain';
import { SCHEMA, type BoundStatement } from '@banking/postgres';
import { analyzeTables } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import {
  addTransfers,
  type AgedWorkspace,
  agedWorkspaces,
  type AgedWorld,
  Explaining,
  pageSentBy,
} from '../testing/aged-workspaces.js';

/** Far more than a page of ten may touch. */
const COUNT = 60_000;
const LIMIT = 10;
const MOST = { rows: 4_000, buffers: 3_000 };

type Query = TransferQuery | OrderQuery | RecipientQuery | AuditQuery;
type List = 'listTransfers' | 'listOrders' | 'listRecipients' | 'listAuditEvents';

const PARTIES = (aged: AgedWorkspace) => [{}, { accountId: aged.accountId }, { recipientId: aged.recipientId }];
const withParties = (filters: readonly object[], aged: AgedWorkspace) =>
  filters.flatMap((filter) => PARTIES(aged).map((party) => ({ ...filter, ...party })));

const TYPES = ['payout', 'spot', 'internal', 'funding', 'return', 'fee', 'of another service', 'unknown'];
const DIRECTIONS = ['credit', 'debit'];
const STATUSES = ['completed', 'pending', 'failed'];
const named = (name: string, values: readonly string[]) => values.map((value) => ({ [name]: value }));

/** Every value of every filter alone, the pairs of them, and all with an account and with a recipient. */
const QUERIES: readonly (readonly [List, (aged: AgedWorkspace) => readonly Query[]])[] = [
  [
    'listTransfers',
    (aged) =>
      withParties(
        [
          {},
          ...named('type', TYPES),
          ...named('direction', DIRECTIONS),
          ...named('type', TYPES).flatMap((type) => named('direction', DIRECTIONS).map((way) => ({ ...type, ...way }))),
          ...named('transactionStatus', STATUSES),
          { createdTo: '2019-12-02T00:00:00Z' },
          { createdFrom: '2019-12-01T00:00:00Z', createdTo: '2020-01-01T00:00:00Z', transactionStatus: 'pending' },
        ],
        aged,
      ) as TransferQuery[],
  ],
  [
    'listOrders',
    (aged) => [
      ...(withParties(
        [
          {},
          ...named('status', ['active', 'completed', 'cancelled', 'failed']),
          ...named('type', ['instant', 'scheduled', 'recurring']),
          { status: 'active', type: 'instant' },
          { createdTo: '2019-12-02T00:00:00Z' },
          { externalReference: 'nothing has this one' },
          { externalReference: 'scheduled failed 2019-12-01 00:00:02+00' },
        ],
        aged,
      ) as OrderQuery[]),
      ...[aged.placerId, 999_999 as typeof aged.placerId].flatMap((placedBy) =>
        [{}, { status: 'failed' }, { type: 'recurring' }, { createdTo: '2019-12-02T00:00:00Z' }].map(
          (filter) => ({ ...filter, placedBy }) as OrderQuery,
        ),
      ),
    ],
  ],
  ['listRecipients', () => [{}, { saved: true }, { saved: false }]],
  [
    'listAuditEvents',
    (aged) =>
      [
        {},
        ...named('operation', ['placeOrder', 'changeAccount', 'createQuote', 'of another service', 'unknown']),
      ].flatMap((operation) =>
        [
          {},
          { actor: aged.placerId },
          { actor: 999_999 },
          { resourceType: 'account', resourceId: 1 },
          { resourceType: 'order', resourceId: 1 },
          { resourceType: 'order', resourceId: 999_999 },
          { resourceType: 'order', resourceId: 2, actor: 999_999 },
          { to: '2019-12-02T00:00:00Z' },
          { from: '2019-12-01T00:00:00Z', to: '2020-01-01T00:00:00Z' },
        ].map((filter) => ({ ...filter, ...operation }) as AuditQuery),
      ),
  ],
];

interface Asked {
  readonly name: string;
  readonly workspaceId: number;
  readonly settings: BoundStatement<unknown>;
  readonly bound: BoundStatement<unknown>;
}

/** The statement of each page, and of the page after it. */
async function statementsOf(world: AgedWorld): Promise<readonly Asked[]> {
  const service = new LedgerBankingService(world.database, world.books);
  const asked: Asked[] = [];
  for (const [owners, aged] of Object.entries({ payers: world.payers, collectors: world.collectors })) {
    const scope: Scope = { workspaceId: aged.workspaceId };
    for (const [list, queriesOf] of QUERIES) {
      for (const query of queriesOf(aged)) {
        let cursor: string | undefined;
        const read = async () => {
          cursor = (await service[list](scope, { ...query, limit: LIMIT, cursor } as never)).next;
        };
        const ask = async (page: string) => {
          const [settings, bound] = await pageSentBy(world.database, read);
          const name = `${list} ${JSON.stringify(query)} of ${owners}, ${page} page`;
          asked.push({ name, workspaceId: aged.workspaceId, settings, bound });
        };
        await ask('first');
        if (cursor !== undefined) await ask('second');
      }
    }
  }
  return asked;
}

async function tooMuch(explaining: Explaining, asked: readonly Asked[]): Promise<readonly string[]> {
  const findings: string[] = [];
  for (const { name, workspaceId, settings, bound } of asked) {
    const { rows, buffers } = await explaining.explain(workspaceId, settings, bound);
    if (rows > MOST.rows || buffers > MOST.buffers) findings.push(`${name}: ${rows} rows, ${buffers} buffers`);
  }
  return findings;
}

describe('a page of a list in workspaces with very many rows of one kind', () => {
  let world: AgedWorld;
  let early: Explaining;
  let asked: readonly Asked[];

  beforeAll(async () => {
    world = await agedWorkspaces(COUNT, async (small) => {
      early = await Explaining.open(small);
      asked = await statementsOf(small);
      await tooMuch(early, asked);
    });
    asked = await statementsOf(world);
  }, 300_000);
  afterAll(async () => {
    await early.close();
    await world.close();
  });

  it('reads a bounded part with a plan from small tables', async () => {
    expect(await tooMuch(early, asked)).toEqual([]);
  }, 300_000);

  it('reads a bounded part with a plan without statistics', async () => {
    const late = await Explaining.open(world);
    expect(await tooMuch(late, asked)).toEqual([]);
    await late.close();
  }, 300_000);

  it('reads a bounded part with a plan from statistics', async () => {
    await analyzeTables(world.connection, SCHEMA);
    const late = await Explaining.open(world);
    expect(await tooMuch(late, asked)).toEqual([]);
    await late.close();
  }, 300_000);

  it('reads the pending transactions of the filters at most, if very many are pending', async () => {
    const { payers, database, books, owner } = world;
    const { workspaceId, accountId, recipientId } = payers;
    const count = 20_001;
    await owner.query('set session_replication_role = replica');
    const elsewhere = { ...payers, accountId: payers.quietAccountId! };
    await addTransfers(world, elsewhere, [['payout', 'debit', 'pending']], `timestamptz '2021-01-01Z'`, count);
    await addTransfers(world, payers, [['payout', 'debit', 'completed']], `timestamptz '2022-01-01Z'`, count);
    const service = new LedgerBankingService(database, books);
    const explaining = await Explaining.open(world);
    const cases = [
      [0, {}, 't.id > 0'],
      [0, { recipientId }, `t.recipient_id = ${recipientId}`],
      [0, { createdTo: '2021-01-01T00:00:00Z' }, `t.created_at < '2021-01-01Z'`],
      [
        0,
        { accountId, createdTo: '2021-01-01T00:00:00Z' },
        `t.account_id = ${accountId} and t.created_at < '2021-01-01Z'`,
      ],
      [count, { accountId }, `t.account_id = ${accountId}`],
      [count, { type: 'fee' }, `t.type = 'fee'`],
    ] as const;

    for (const [scanned, filter, where] of cases) {
      let ids: readonly number[] = [];
      const [settings, bound] = await pageSentBy(database, async () => {
        const query = { transactionStatus: 'pending', limit: LIMIT, ...filter } as TransferQuery;
        ids = (await service.listTransfers({ workspaceId }, query)).items.map(({ id }) => id);
      });
      const { rows, buffers } = await explaining.explain(workspaceId, settings, bound);
      expect([filter, rows < MOST.rows + 3 * scanned, buffers < MOST.buffers + 5 * scanned]).toEqual([
        filter,
        true,
        true,
      ]);
      const { rows: newest } = await owner.query<{ id: bigint }>(
        `select t.id from transfer t join transaction x on x.workspace_id = t.workspace_id and x.id = t.transaction_id
         where t.workspace_id = $1 and x.status = 'pending' and ${where}
         order by t.created_at desc, t.id desc limit $2`,
        [workspaceId, LIMIT],
      );
      expect(ids).toEqual(newest.map(({ id }) => Number(id)));
    }
    await explaining.close();
  }, 300_000);
});
