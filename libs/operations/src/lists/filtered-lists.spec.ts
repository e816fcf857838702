import * as fc from 'fast-check';
import type {
  Order,
  OrderQuery,
  Page,
  PageQuery,
  Recipient,
  RecipientQuery,
  Scope,
  Transfer,
  TransferQuery,
} from '@banking/domain';
import { APP_ROLE, type BoundStatement, type Database, SCHEMA } from '@banking/postgres';
import { analyzeTables, openDatabase, reasonOf, sql } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { agedWorkspaces, type AgedWorld, Explaining, pageSentBy, sentBy } from '../testing/aged-workspaces.js';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';
import { type CursorScope, CursorSigner } from './sign-cursor.js';

let world: AgedWorld;
let service: LedgerBankingService;
let scope: Scope;

beforeAll(async () => {
  world = await agedWorkspaces(20);
});

describe('a filtered list', () => {
  beforeAll(async () => {
    service = new LedgerBankingService(world.database, world.books);
    scope = { workspaceId: world.payers.workspaceId };
  });

  afterAll(() => world.close());

  async function walk<T, Query extends PageQuery>(
    page: (query: Query) => Promise<Page<T>>,
    query: Query,
  ): Promise<T[]> {
    const walked: T[] = [];
    let cursor: string | undefined;
    do {
      const { items, next } = await page({ ...query, cursor });
      expect(items.length).toBeLessThanOrEqual(query.limit ?? 100);
      expect(items.length > 0 || next === undefined).toBe(true);
      walked.push(...items);
      cursor = next;
    } while (cursor !== undefined);
    return walked;
  }

  /** Each part present or not, in all combinations. */
  const some = <T extends object>(parts: { readonly [K in keyof T]: readonly T[K][] }) =>
    fc.record(
      Object.fromEntries(
        Object.entries<readonly unknown[]>(parts).map(([name, values]) => [name, fc.constantFrom(...values)]),
      ),
      { requiredKeys: ['limit'] },
    ) as unknown as fc.Arbitrary<T>;

  const limit = [1, 7, 100, 500];

  const idsIn = async (table: string, where: string) =>
    (
      await world.owner.query<{ id: bigint }>(
        `select id from ${table} where workspace_id = $1 and ${where} order by created_at desc, id desc`,
        [scope.workspaceId],
      )
    ).rows.map(({ id }) => Number(id));

  const within = ({ createdFrom, createdTo }: TransferQuery, createdAt = '') =>
    (createdFrom === undefined || createdAt >= createdFrom) && (createdTo === undefined || createdAt < createdTo);

  const is = <T>(wanted: T | undefined, found: T | undefined) => wanted === undefined || wanted === found;

  it('has the matching transfers in the order of the list', async () => {
    const all = await walk<Transfer, TransferQuery>((query) => service.listTransfers(scope, query), {});
    expect(all.map(({ id }) => id)).toEqual(await idsIn('transfer', 'account_version is not null'));
    const times = [all[3]!.createdAt!, all[40]!.createdAt!, all.at(-3)!.createdAt!];

    await fc.assert(
      fc.asyncProperty(
        some<TransferQuery>({
          type: ['payout', 'spot', 'internal', 'funding', 'return', 'fee', 'of another service', 'unknown'],
          direction: ['credit', 'debit'],
          transactionStatus: ['completed', 'pending', 'failed'],
          accountId: [...new Set(all.map(({ edges }) => edges.account!.id))],
          recipientId: [world.payers.recipientId, world.demo.recipients['internal'] as typeof world.payers.recipientId],
          createdFrom: times,
          createdTo: times,
          limit,
        }),
        async (query) => {
          fc.pre(
            query.createdFrom === undefined || query.createdTo === undefined || query.createdFrom <= query.createdTo,
          );
          const walked = await walk((page) => service.listTransfers(scope, page), query);
          expect(walked).toEqual(
            all.filter(
              ({ type, direction, createdAt, edges: { account, recipient, transaction } }) =>
                is(query.type, type) &&
                is(query.direction, direction as typeof query.direction) &&
                is(query.transactionStatus, transaction?.status as typeof query.transactionStatus) &&
                is(query.accountId, account?.id) &&
                is(query.recipientId, recipient?.id) &&
                within(query, createdAt),
            ),
          );
        },
      ),
      { numRuns: 150 },
    );
  });

  it('has the matching orders in the order of the list', async () => {
    const all = await walk<Order, OrderQuery>((query) => service.listOrders(scope, query), {});
    expect(all.map(({ id }) => id)).toEqual(await idsIn('customer_order', 'true'));
    const references = all.flatMap(({ externalReference }) => externalReference ?? []);
    const times = [all[3]!.createdAt!, all.at(-3)!.createdAt!];

    await fc.assert(
      fc.asyncProperty(
        some<OrderQuery>({
          status: ['active', 'completed', 'cancelled', 'failed'],
          type: ['instant', 'scheduled', 'recurring'],
          accountId: [...new Set(all.map(({ edges }) => edges.account!.id))],
          recipientId: [...new Set(all.map(({ edges }) => edges.recipient!.id))],
          placedBy: [world.payers.placerId, 999_999 as typeof world.payers.placerId],
          externalReference: [references[0]!, references.at(-1)!, 'nothing has this one', ''],
          createdFrom: times,
          createdTo: times,
          limit,
        }),
        async (query) => {
          fc.pre(
            query.createdFrom === undefined || query.createdTo === undefined || query.createdFrom <= query.createdTo,
          );
          const walked = await walk((page) => service.listOrders(scope, page), query);
          expect(walked).toEqual(
            all.filter(
              ({ status, type, placedBy, externalReference, createdAt, edges: { account, recipient } }) =>
                is(query.status, status as typeof query.status) &&
                is(query.type, type as typeof query.type) &&
                is(query.placedBy, placedBy) &&
                is(query.externalReference, externalReference) &&
                is(query.accountId, account?.id) &&
                is(query.recipientId, recipient?.id) &&
                within(query, createdAt),
            ),
          );
        },
      ),
      { numRuns: 150 },
    );
  });

  it('has the matching recipients in the order of the list', async () => {
    const all = await walk<Recipient, RecipientQuery>((query) => service.listRecipients(scope, query), {});
    expect(all.map(({ id }) => id)).toEqual(await idsIn('recipient', 'forgotten_at is null'));

    await fc.assert(
      fc.asyncProperty(some<RecipientQuery>({ saved: [true, false], limit }), async (query) => {
        const walked = await walk((page) => service.listRecipients(scope, page), query);
        expect(walked).toEqual(all.filter(({ saved }) => is(query.saved, saved)));
      }),
      { numRuns: 20 },
    );
  });

  it('refuses a cursor of other filters', async () => {
    const { next: cursor } = await service.listOrders(scope, { status: 'completed', limit: 1 });

    for (const query of [{ status: 'active' }, { status: 'completed', externalReference: 'x' }, {}] as OrderQuery[]) {
      await expect(service.listOrders(scope, { ...query, limit: 1, cursor })).rejects.toMatchObject({
        reason: 'cursor_invalid',
      });
    }
    const { next } = await service.listTransfers(scope, { transactionStatus: 'pending', limit: 1 });
    await expect(
      service.listTransfers(scope, { transactionStatus: 'failed', limit: 1, cursor: next }),
    ).rejects.toMatchObject({ reason: 'cursor_invalid' });
  });
});

describe('a page of a list', () => {
  /** With one connection. */
  let database: Database;

  beforeAll(async () => {
    const { connection } = world;
    database = await openDatabase({ connection, role: APP_ROLE, schema: SCHEMA, poolSize: 1 });
    service = new LedgerBankingService(database);
    scope = { workspaceId: world.payers.workspaceId };
  });

  afterAll(async () => {
    await database.end();
  });

  afterAll(() => world.close());

  /** Read once for a process, or compared from time to time. */
  const OF_PROCESS = ['read_reference', 'reference_version', 'read_cursor_key'];
  const LISTS = ['listTransfers', 'listOrders', 'listAccounts', 'listRecipients'] as const;

  it.each(LISTS)('is read by one statement, however many items it has: %s', async (list) => {
    for (const limit of [1, 500]) {
      const sent = await sentBy(database, () => service[list](scope, { limit }));
      const names = sent.map(({ statement }) => statement.name).filter((name) => !OF_PROCESS.includes(name));
      expect(names).toEqual(['plan_pages_once', expect.stringContaining('list_')]);
    }
  });

  it.each(['listTransfers', 'listOrders'] as const)('reads each row once: %s', async (list) => {
    const [settings, bound] = await sentBy(database, () => service[list](scope, { limit: 500 }));
    const [, [row]] = await database.pipeline({ workspaces: [world.payers.workspaceId] }, [settings!, bound!] as const);
    const { places, ...tables } = row as Record<string, readonly (readonly unknown[])[]>;
    for (const [table, rows] of Object.entries(tables)) {
      expect([table, new Set(rows.map(([id]) => id)).size]).toEqual([table, rows.length]);
    }
    expect(places!.length).toBeGreaterThan(10 * tables['accounts']!.length);
    expect(tables['recipients']!.length).toBeGreaterThan(0);
  });

  it('composes each account, recipient and transaction once', async () => {
    const { items } = await service.listTransfers(scope, { limit: 500 });
    const edges = items.map((item) => item.edges);
    const all: readonly (readonly { readonly id: number }[])[] = [
      edges.flatMap(({ account }) => account ?? []),
      edges.flatMap(({ recipient }) => recipient ?? []),
      edges.flatMap(({ transaction }) => transaction ?? []),
    ];
    for (const linked of all) {
      expect(linked.length).toBeGreaterThan(new Set(linked).size);
      expect(new Set(linked).size).toBe(new Set(linked.map(({ id }) => id)).size);
    }
  });

  it('is planned once', async () => {
    for (let limit = 1; limit <= 12; limit += 1) await service.listTransfers(scope, { limit });

    const [plans] = await database.pipeline({}, [
      sql<{ custom: number }>(
        `select custom_plans::int as custom from pg_prepared_statements where name like 'list_transfers%'`,
      ),
    ]);
    expect(plans).toEqual([{ custom: 0 }]);
  });
});

describe('the largest pages of a workspace with linked transactions', () => {
  /** Rows of the most frequent kind. A lookup that reads all of them touches hundreds of pages. */
  const COUNT = 20_000;
  const LIMIT = 500;

  /** One transfer or order with all its edges. */
  const MOST_BUFFERS = 40;

  /** The largest page of each list. */
  let asked: readonly {
    readonly name: string;
    readonly settings: BoundStatement<unknown>;
    readonly bound: BoundStatement<unknown>;
  }[];

  beforeAll(async () => {
    world = await agedWorkspaces(COUNT);
    const { workspaceId } = world.payers;
    const scope: Scope = { workspaceId };
    const service = new LedgerBankingService(world.database, world.books);
    // The rows of the demo data are newer.
    const old = { limit: 1, createdTo: '2021-01-01T00:00:00Z' };
    const [transfer] = (await service.listTransfers(scope, old)).items;
    const [order] = (await service.listOrders(scope, old)).items;
    const links = { orderID: expect.any(Number) as number, returnedBy: expect.any(Number) as number };
    expect(transfer!.edges.transaction).toMatchObject(links);
    expect(order!.edges.executions).toMatchObject([{ edges: { transaction: links } }]);

    const sent = async (name: string, read: () => Promise<unknown>) => {
      const [settings, bound] = await pageSentBy(world.database, read);
      return { name, settings, bound };
    };
    asked = [
      await sent('transfers', () => service.listTransfers(scope, { limit: LIMIT })),
      await sent('orders', () => service.listOrders(scope, { limit: LIMIT })),
    ];
  }, 240_000);

  afterAll(() => world.close());

  async function tooMuch(): Promise<readonly string[]> {
    const explaining = await Explaining.open(world);
    const findings: string[] = [];
    for (const { name, settings, bound } of asked) {
      const { buffers } = await explaining.explain(world.payers.workspaceId, settings, bound);
      if (buffers > LIMIT * MOST_BUFFERS) findings.push(`${name}: ${buffers} buffers`);
    }
    await explaining.close();
    return findings;
  }

  it.each(['without statistics', 'with statistics'])(
    'need a bounded number of lookups per item %s',
    async (statistics) => {
      if (statistics === 'with statistics') await analyzeTables(world.connection, SCHEMA);

      expect(await tooMuch()).toEqual([]);
    },
  );
});

describe('a cursor', () => {
  let world: TestDatabase;
  let signer: CursorSigner;

  beforeAll(async () => {
    world = await emptyDatabase();
    signer = new CursorSigner(world.database);
  });

  afterAll(() => world.close());

  const position = { at: '2026-11-21T09:30:00.123456Z', id: 42 };
  const scope: CursorScope = { list: 'list_things', workspaceId: 7, filters: { accountId: 3, type: 'payout' } };

  it('contains the end of the page, for each process', async () => {
    const cursor = await signer.sign(scope, position);

    expect(await signer.verify(scope, cursor)).toEqual(position);
    expect(
      await new CursorSigner(world.database).verify({ ...scope, filters: { type: 'payout', accountId: 3 } }, cursor),
    ).toEqual(position);
  });

  it.each<[string, Partial<CursorScope>]>([
    ['another list', { list: 'list_others' }],
    ['another workspace', { workspaceId: 8 }],
    ['another value of a filter', { filters: { accountId: 4, type: 'payout' } }],
    ['a filter less', { filters: { accountId: 3 } }],
    ['a filter more', { filters: { accountId: 3, type: 'payout', direction: 'debit' } }],
    ['a number for a text', { filters: { accountId: '3', type: 'payout' } }],
  ])('is refused for %s', async (_, changed) => {
    const cursor = await signer.sign(scope, position);

    expect(await reasonOf(signer.verify({ ...scope, ...changed }, cursor))).toBe('cursor_invalid');
  });

  it('is refused if one character differs', async () => {
    const cursor = await signer.sign(scope, position);
    for (let at = 0; at < cursor.length; at += 1) {
      const forged = `${cursor.slice(0, at)}${cursor[at] === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`;
      expect(await reasonOf(signer.verify(scope, forged))).toBe('cursor_invalid');
    }
  });

  it('is refused with other unused bits at its end, which decode to the same bytes', async () => {
    const cursor = await signer.sign(scope, position);
    const spellings = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']
      .map((last) => `${cursor.slice(0, -1)}${last}`)
      .filter((text) => Buffer.from(text, 'base64url').equals(Buffer.from(cursor, 'base64url')));

    expect(spellings).toHaveLength(16);
    for (const text of [...spellings.filter((text) => text !== cursor), `${cursor}=`]) {
      expect(await reasonOf(signer.verify(scope, text))).toBe('cursor_invalid');
    }
  });

  it('is refused if it is invented', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string(), fc.base64String(), fc.stringMatching(/^[A-Za-z0-9_-]{1,90}$/)),
        async (text) => {
          expect(await reasonOf(signer.verify(scope, text))).toBe('cursor_invalid');
        },
      ),
      { examples: [['']] },
    );
  });
});
