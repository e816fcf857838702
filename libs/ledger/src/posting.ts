import { bind, statement, type Bound, type IdBlocks, type Tx } from '@banking/postgres';
import type { Books } from './books.js';
import { decide, type Gate, type HeldAccount } from './decide.js';
import { currencyCode, meetOwnAccounts, ownAccountKey } from './own-accounts.js';
import type { Outcome, PostedTransaction, Proposal } from './proposal.js';

/** In id order, whoever posts: two batches that share accounts wait for each other instead of blocking each other. */
const LOCK_ACCOUNTS = lockAccounts('lock_accounts', 'for no key update of a');
/** Takes what is free: a batch of many does not wait for the one account that somebody else holds. */
const LOCK_FREE_ACCOUNTS = lockAccounts('lock_free_accounts', 'for no key update of a skip locked');

function lockAccounts(name: string, lock: string) {
  return statement<{
    workspace_id: bigint;
    id: bigint;
    currency_id: number;
    status: string;
    floor: bigint;
    balance: bigint;
    version: bigint;
    head: string;
  }>(
    name,
    `select a.workspace_id, a.id, a.currency_id, a.status, a.floor, a.balance, a.version, a.head
     from account a
     join unnest($1::bigint[], $2::bigint[]) u(w, i) on (a.workspace_id, a.id) = (u.w, u.i)
     where a.kind = 'customer'
     order by a.workspace_id, a.id
     ${lock}`,
  );
}

/** In the order of the unique key that two batches may both meet, so that they never wait for each other in a cycle. */
const INSERT_TRANSACTIONS = statement(
  'insert_transactions',
  `insert into transaction (workspace_id, id, status, hash, value_date, return_of)
   select * from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::date[], $6::bigint[]) u(w, id, s, h, d, return_of)
   order by w, return_of`,
);

/** One statement for the batch: the trigger behind it sums each transaction and moves each account once. */
const INSERT_TRANSFERS = statement(
  'insert_transfers',
  `insert into transfer (workspace_id, id, transaction_id, account_id, currency_id, direction, amount, type,
                         description, purpose, fee_amount, recipient_id, account_version, balance_after)
   select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::int[], $6::text[], $7::bigint[], $8::text[],
                        $9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[])`,
);

const MOVE_HEADS = statement(
  'move_heads',
  `update account a set head = u.head
   from unnest($1::bigint[], $2::bigint[], $3::text[]) u(w, i, head)
   where a.workspace_id = u.w and a.id = u.i`,
);

/**
 * What is written in the same database transaction as the books, once it is known what was posted. Told the outcomes and, at the
 * same places, their proposals: all of a batch, or a part of it when the database has rejected the batch.
 */
export type Alongside = (outcomes: readonly Outcome[], proposals: readonly Proposal[]) => readonly Bound<unknown>[];

/** What came of a batch. */
interface Finished {
  /** One for each proposal, in their order. */
  readonly outcomes: Outcome[];
  /** What the statements alongside answered, in their order. */
  readonly rows: readonly (readonly unknown[])[];
}

/** What else goes on while a batch is posted. */
export interface Finishing {
  readonly alongside?: Alongside;
  /** Sent behind the locks in their flight: what is read there has seen all that was decided on these accounts before. */
  readonly reads?: readonly Bound<unknown>[];
  /** Told what the reads answered; asked before each proposal is decided. */
  readonly gate?: (rows: readonly (readonly unknown[])[]) => Gate;
  /** Leaves out proposals whose accounts somebody else holds, instead of waiting for them. */
  readonly skipsLocked?: boolean;
}

/** A batch made ready: ids reserved and own accounts open, so that within its database transaction it needs no other connection. */
export interface Posting {
  /** The scope its database transaction must have. */
  readonly workspaces: readonly number[];
  /**
   * Locks the accounts, decides, writes and commits. What the caller locks in `tx` comes before the accounts. It may be called again
   * for the same batch when the database transaction was rolled back.
   */
  finish(tx: Tx, finishing?: Finishing): Promise<Finished>;
}

/** Makes a batch ready for a caller who has something to lock or to ask first in the same database transaction. Others `post`. */
export async function preparePosting(books: Books, proposals: readonly Proposal[]): Promise<Posting> {
  const entries = proposals.flatMap((proposal) => proposal.entries);
  const legs = entries.flatMap((entry) => entry.legs.map((leg) => ({ workspaceId: entry.workspaceId, leg })));
  const touched = proposals.map(customersOf);
  const workspaces = [...new Set([...entries, ...touched.flat()].map(({ workspaceId }) => workspaceId))];
  // First, because a new account's first snapshot draws from the ids of transfers: a lone starter's ids come out the same each time.
  await meetOwnAccounts(books, proposals);
  const [transactionIds, transferIds] = await Promise.all([
    reserve(books.transactionIds, entries.length),
    reserve(books.transferIds, legs.length),
  ]);

  const finish = async (tx: Tx, finishing: Finishing = {}): Promise<Finished> => {
    const { alongside = () => [], reads = [], gate: gateOf = () => () => undefined, skipsLocked = false } = finishing;
    const refs = [...new Map(touched.flat().map((ref) => [refKey(ref), ref])).values()];
    const lock = skipsLocked ? LOCK_FREE_ACCOUNTS : LOCK_ACCOUNTS;
    const [rows, ...found] = await tx.flight([
      bind(lock, refs.map(({ workspaceId }) => workspaceId), refs.map(({ accountId }) => accountId)), // prettier-ignore
      ...reads,
    ]);

    const held = new Map<string, HeldAccount>();
    for (const { workspace_id, id, currency_id, version, ...row } of rows) {
      const account = { ...row, workspaceId: Number(workspace_id), id: Number(id), currencyId: currency_id, version: Number(version) }; // prettier-ignore
      held.set(`${account.workspaceId}/${account.id}`, account);
    }

    const isHeld = (ref: AccountRef) => held.has(refKey(ref));
    const gate = gateOf(found);
    const outcomes = decide(
      {
        account: (workspaceId, accountId) => held.get(`${workspaceId}/${accountId}`),
        ownAccount: (workspaceId, currencyId, kind) => {
          const id = books.ownAccounts.get(ownAccountKey(workspaceId, currencyId, kind));
          if (id === undefined) throw new Error(`our own ${kind} account was not opened`);
          return id;
        },
        currencyCode,
        takeTransactionId: inTurn(transactionIds),
        takeTransferId: inTurn(transferIds),
      },
      proposals,
      (index, before) => (skipsLocked && !touched[index]?.every(isHeld) ? { leftOut: 'locked' } : gate(index, before)),
    );
    const posted = outcomes.flatMap((outcome) => outcome.posted ?? []);
    const written = posted.length > 0 ? writes(posted, held) : [];
    const answers = await tx.commit([...written, ...alongside(outcomes, proposals)]);
    return { outcomes, rows: answers.slice(written.length) };
  };
  return { workspaces, finish };
}

interface AccountRef {
  readonly workspaceId: number;
  readonly accountId: number;
}

const refKey = ({ workspaceId, accountId }: AccountRef): string => `${workspaceId}/${accountId}`;

/** The customers' accounts a proposal needs. */
function customersOf({ entries, holds }: Proposal): AccountRef[] {
  const moved = entries.flatMap(({ workspaceId, legs }) =>
    legs.flatMap(({ account }) => (typeof account === 'number' ? [{ workspaceId, accountId: account }] : [])),
  );
  return holds ? [holds, ...moved] : moved;
}

/** Takes all ids of a batch in the one step in which nobody else can: what is decided later has its own. */
async function reserve(blocks: IdBlocks, count: number): Promise<readonly number[]> {
  await blocks.ready(count);
  return Array.from({ length: count }, () => blocks.take());
}

/** Gives out the ids from the first on: a batch that was rolled back and is repeated takes the same ones again. */
function inTurn(reserved: readonly number[]): () => number {
  const ids = reserved.values();
  return () => {
    const { value, done } = ids.next();
    if (done) throw new Error('a batch takes no more ids than it has entries and legs');
    return value;
  };
}

function writes(posted: readonly PostedTransaction[], held: ReadonlyMap<string, HeldAccount>): Bound<unknown>[] {
  const transfers = posted.flatMap((transaction) =>
    transaction.transfers.map((transfer) => ({ transaction, transfer, leg: transfer.leg })),
  );
  const moved = new Map<string, HeldAccount>();
  for (const { transaction, transfer } of transfers) {
    const key = `${transaction.workspaceId}/${transfer.accountId}`;
    const account = held.get(key);
    if (account) moved.set(key, account);
  }
  const heads = [...moved.values()].sort((a, b) => a.workspaceId - b.workspaceId || a.id - b.id);
  return [
    bind(
      INSERT_TRANSACTIONS,
      posted.map(({ workspaceId }) => workspaceId),
      posted.map(({ id }) => id),
      posted.map(({ entry }) => entry.status),
      posted.map(({ hash }) => hash),
      posted.map(({ entry }) => entry.valueDate),
      posted.map(({ entry }) => entry.returnOf ?? null),
    ),
    bind(
      INSERT_TRANSFERS,
      transfers.map(({ transaction }) => transaction.workspaceId),
      transfers.map(({ transfer }) => transfer.id),
      transfers.map(({ transaction }) => transaction.id),
      transfers.map(({ transfer }) => transfer.accountId),
      transfers.map(({ leg }) => leg.currencyId),
      transfers.map(({ leg }) => leg.direction),
      transfers.map(({ leg }) => leg.amount.toString()),
      transfers.map(({ leg }) => leg.type),
      transfers.map(({ leg }) => leg.description ?? null),
      transfers.map(({ leg }) => leg.purpose ?? null),
      transfers.map(({ leg }) => leg.feeAmount?.toString() ?? null),
      transfers.map(({ leg }) => leg.recipientId ?? null),
      transfers.map(({ transfer }) => transfer.accountVersion ?? null),
      transfers.map(({ transfer }) => transfer.balanceAfter?.toString() ?? null),
    ),
    bind(
      MOVE_HEADS,
      heads.map(({ workspaceId }) => workspaceId),
      heads.map(({ id }) => id),
      heads.map(({ head }) => head),
    ),
  ];
}
