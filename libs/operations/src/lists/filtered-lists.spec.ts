import fc from 'fast-check';
import type {
  Order,
  OrderQuery,
  PageQuery,
  Page,
  Recipient,
  RecipientQuery,
  Scope,
  Transfer,
  TransferQuery,
} from '@banking/domain';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { agedWorkspaces, type AgedWorld } from '../testing/aged-workspaces.js';

let world: AgedWorld;
let service: LedgerBankingService;
let scope: Scope;

beforeAll(async () => {
  world = await agedWorkspaces(20);
  service = new LedgerBankingService(world.database, world.books);
  scope = { workspaceId: world.payers.workspaceId };
});
afterAll(() => world.close());

async function walk<T, Query extends PageQuery>(page: (query: Query) => Promise<Page<T>>, query: Query): Promise<T[]> {
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

describe('a filtered list', () => {
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
