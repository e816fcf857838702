import { minorUnits, Refusal, type WorkspaceId } from '@banking/domain';
import {
  type Books,
  decide,
  type DecisionContext,
  lockAndRead,
  type PostedTransaction,
  posting,
  postingValues,
  preparePosting,
  type Proposal,
  requirePosted,
  returnEntry,
} from '@banking/ledger';
import { bind, DatabaseError, sqlStatement } from '@banking/postgres';
import type { Chore, WorkerOptions } from '@banking/work-queue';
import { codesOf, matchEntry, type NamedAccount, normalCode, type ReceivingAccount } from './match-entry.js';

/** How many entries one database transaction books. */
export const DEPOSITS_MAX = 64;

const IDLE_MS = 500;

/** Entries that were reported and still wait, at most: more are reported again. */
const REPORTED_MAX = 10_000;

/** An entry that stays open until an operator acts. Its message names the entry by its id, and repeats nothing of the bank. */
class DepositWaits extends Error {
  override readonly name = 'DepositWaits';
}

interface EntryRow {
  readonly id: bigint;
  readonly bank_account: string;
  readonly amount: bigint;
  readonly currency: string;
  readonly creditor_reference: string | null;
  readonly remittance: string | null;
  readonly reference: string | null;
  /** Otherwise it waits. It is read all the same, so that very many of them are a page each, and delay no other. */
  readonly is_certain: boolean;
}

/** Which entries these are is stated once more by `hold_credit_entries`, behind their locks. Served by an index of the open ones only. */
const creditEntries = (status: 'booked' | 'pending') =>
  sqlStatement<EntryRow>(
    `read_${status}_credit_entries`,
    `select e.id, e.bank_account, e.amount, e.currency, e.creditor_reference, e.remittance,
            reference_of_entry(e.creditor_reference, e.remittance) as reference, is_certain_credit(e) as is_certain
     from bank_entry e
     where e.direction = 'credit' and e.outcome is null and e.status = '${status}' and e.id > $1
       and e.batch_count is null and not e.is_reversal and e.return_reason is null
       and not exists (select from file_payment p where p.end_to_end_id = e.end_to_end_id)
     order by e.id limit $2`,
  );

export const READ_BOOKED = creditEntries('booked');
const READ_ANNOUNCED = creditEntries('pending');

interface CodeRow {
  readonly code: string;
  readonly workspace_id: bigint;
  readonly account_id: bigint;
  readonly currency_id: number;
  readonly currency: string;
}

const FIND_CODES = sqlStatement<CodeRow>(
  'find_codes_of_entries',
  `select o.code, o.workspace_id, o.account_id, o.currency_id, c.code as currency
   from account_code o join currency c on c.id = o.currency_id where o.code = any($1::text[])`,
);

interface DepositRow {
  readonly entry_id: bigint;
  readonly workspace_id: bigint;
  readonly id: bigint;
  readonly status: string;
  readonly transaction_id: bigint | null;
}

const FIND_DEPOSITS = sqlStatement<DepositRow>(
  'find_deposits_of_entries',
  'select entry_id, workspace_id, id, status, transaction_id from deposits_of_entries($1::bigint[])',
);

const HOLD_BOOKED = sqlStatement<{ id: bigint }>(
  'hold_booked_credit_entries',
  `select id from hold_credit_entries($1::bigint[], 'booked')`,
);

const POST_BANK_DEPOSITS = posting('post_bank_deposits', '$3::bigint[]', '$4::text[]');
const REVERSE_BANK_DEPOSITS = posting('reverse_bank_deposits', '$3::bigint[]', '$4::bigint[]');

const ANNOUNCE = sqlStatement<{ announced: number }>(
  'announce_deposits',
  'select announce_deposits($1::bigint[], $2::bigint[], $3::bigint[]) as announced',
);

interface ReversalRow {
  readonly id: bigint;
  /** The entries that it may take back, also those without a deposit that can be returned: at most two are read. */
  readonly entry_ids: bigint[] | null;
  /** Whether the credit that it takes back is not booked yet. */
  readonly is_early: boolean;
}

const READ_REVERSALS = sqlStatement<ReversalRow>(
  'read_reversals_of_credits',
  `select r.id, (
     select array_agg(o.id) from (
       select e.id from bank_entry e
       where e.direction = 'credit' and e.bank_account = r.bank_account and e.currency = r.currency and e.amount = r.amount
         and e.outcome is distinct from 'return' and reverses_entry(r, e)
       order by e.id limit 2) o) as entry_ids,
     exists (
       select from bank_entry e
       where e.direction = 'credit' and e.outcome is null and e.status = 'booked' and reverses_entry(r, e)) as is_early
   from bank_entry r
   where r.direction = 'debit' and r.outcome is null and r.status = 'booked' and r.id > $1 and r.is_reversal and r.batch_count is null
   order by r.id limit $2`,
);

const HOLD_REVERSAL = sqlStatement<{ id: bigint }>(
  'hold_reversal',
  'select r.id from bank_entry r where r.id = $1 and r.outcome is null for update skip locked',
);

const NOT_REVERSIBLE = 'it reverses no deposit, or one of several';

interface Settings {
  /** With the rights of the worker. */
  readonly books: Books;
  readonly receiving: readonly ReceivingAccount[];
  readonly onError?: WorkerOptions['onError'];
}

/** An entry, with the accounts that its money may go to, the best first. */
interface Booking {
  readonly entryId: number;
  readonly targets: readonly Target[];
}

interface Target {
  readonly workspaceId: WorkspaceId;
  readonly status: 'booked' | 'unmatched';
  readonly proposal: Proposal;
}

/**
 * Books the money that entries of bank accounts say has arrived, announces what is pending, and takes back what a bank has reversed.
 *
 * It walks over the open entries in the order of their ids, so that those which wait for an operator delay no other. Several workers may
 * run: an entry is locked and read again before it is booked.
 */
export class BookDeposits implements Chore {
  readonly name = 'deposits';
  readonly idleMs = IDLE_MS;
  private bookedTo = 0n;
  private announcedTo = 0n;
  private reversedTo = 0n;
  private readonly reported = new Set<string>();

  constructor(private readonly settings: Settings) {}

  /** @returns how much there was to do; more than 0 also while entries are left that it has not read */
  async run(): Promise<number> {
    return (await this.announceNext()) + (await this.bookNext()) + (await this.reverseNext());
  }

  private async bookNext(): Promise<number> {
    const { database } = this.settings.books;
    const [entries] = await database.pipeline({}, [bind(READ_BOOKED, this.bookedTo, DEPOSITS_MAX)] as const);
    this.bookedTo = nextPosition(entries);
    const certain = entries.filter((entry) => entry.is_certain);
    if (certain.length === 0) return Number(entries.length === DEPOSITS_MAX);
    const accounts = await this.accountsOf(certain);
    const bookings = certain.map((entry) => this.bookingOf(entry, accounts));
    return (await this.bookAll(bookings)) + Number(entries.length === DEPOSITS_MAX);
  }

  /** A batch that fails is tried one by one: an entry that cannot be booked delays no other. */
  private async bookAll(bookings: readonly Booking[]): Promise<number> {
    const possible = bookings.filter(({ targets }) => targets.length > 0);
    if (possible.length === 0) return 0;
    try {
      return await this.book(possible);
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      if (possible.length > 1) {
        let booked = 0;
        for (const one of possible) booked += await this.bookAll([one]);
        return booked;
      }
      this.report(possible[0]!.entryId, error);
      return 0;
    }
  }

  private async book(bookings: readonly Booking[]): Promise<number> {
    const { books } = this.settings;
    const ids = bookings.map(({ entryId }) => entryId);
    const prepared = await preparePosting(
      books,
      bookings.flatMap(({ targets }) => targets.map(({ proposal }) => proposal)),
    );
    const [deposits] = await books.database.pipeline({}, [bind(FIND_DEPOSITS, ids)] as const);
    // A pending deposit ends in its own workspace if the money goes to another.
    const workspaces = new Set([...prepared.workspaces, ...deposits.map((row) => Number(row.workspace_id))]);
    const outcome = await books.database.transaction({ workspaces: [...workspaces] }, async (tx) => {
      const [held] = await tx.pipeline([bind(HOLD_BOOKED, ids)] as const);
      const isHeld = new Set(held.map(({ id }) => Number(id)));
      const { context } = await lockAndRead(tx, prepared);
      const decided = bookings
        .filter(({ entryId }) => isHeld.has(entryId))
        .map((booking) => ({ entryId: booking.entryId, ...decideFirst(context, booking.targets) }));
      const booked = decided.flatMap(({ entryId, posted, status }) => (posted ? [{ entryId, posted, status }] : []));
      const refused = decided.flatMap(({ entryId, refusal }) => (refusal ? [{ entryId, refusal }] : []));
      if (booked.length > 0) {
        await tx.commit([
          bind(
            POST_BANK_DEPOSITS,
            ...postingValues(booked.map(({ posted }) => posted)),
            booked.map(({ entryId }) => entryId),
            booked.map(({ status }) => status),
          ),
        ]);
      }
      return { count: booked.length, refused };
    });
    for (const { entryId, refusal } of outcome.refused) this.report(entryId, waits(entryId, refusal.reason));
    return outcome.count;
  }

  private async announceNext(): Promise<number> {
    const { database } = this.settings.books;
    const [entries] = await database.pipeline({}, [bind(READ_ANNOUNCED, this.announcedTo, DEPOSITS_MAX)] as const);
    this.announcedTo = nextPosition(entries);
    const certain = entries.filter((entry) => entry.is_certain);
    const left = Number(entries.length === DEPOSITS_MAX);
    if (certain.length === 0) return left;
    const accounts = await this.accountsOf(certain);
    const matched = certain.flatMap((entry) => {
      const account = matchEntry(textsOf(entry), accounts);
      return account?.currency === entry.currency ? [{ entryId: Number(entry.id), ...account }] : [];
    });
    if (matched.length === 0) return left;
    const workspaceIds = matched.map(({ workspaceId }) => workspaceId);
    const [[row]] = await database.pipeline({ workspaces: [...new Set(workspaceIds)] }, [
      bind(
        ANNOUNCE,
        matched.map(({ entryId }) => entryId),
        workspaceIds,
        matched.map(({ accountId }) => accountId),
      ),
    ] as const);
    return (row?.announced ?? 0) + left;
  }

  private async reverseNext(): Promise<number> {
    const { database } = this.settings.books;
    const [reversals] = await database.pipeline({}, [bind(READ_REVERSALS, this.reversedTo, DEPOSITS_MAX)] as const);
    this.reversedTo = nextPosition(reversals);
    let done = Number(reversals.length === DEPOSITS_MAX);
    for (const { id, entry_ids: entryIds, is_early: isEarly } of reversals) {
      if (isEarly) continue;
      if (entryIds?.length !== 1) {
        this.report(Number(id), waits(Number(id), NOT_REVERSIBLE));
        continue;
      }
      try {
        done += Number(await this.reverse(Number(id), entryIds[0]!));
      } catch (error) {
        if (error instanceof Refusal && error.reason !== 'unavailable')
          this.report(Number(id), waits(Number(id), error.reason));
        else if (error instanceof DatabaseError) this.report(Number(id), error);
        else throw error;
      }
    }
    return done;
  }

  /** Takes the money of a deposit back from its account, if it is still there. @returns whether it was this call */
  private async reverse(reversalId: number, entryId: bigint): Promise<boolean> {
    const { books } = this.settings;
    const [[deposit]] = await books.database.pipeline({}, [bind(FIND_DEPOSITS, [entryId])] as const);
    if (deposit?.transaction_id == null || (deposit.status !== 'booked' && deposit.status !== 'unmatched')) {
      // Another worker may have just reversed it.
      const [open] = await books.database.pipeline({}, [bind(HOLD_REVERSAL, reversalId)] as const);
      if (open.length > 0) this.report(reversalId, waits(reversalId, NOT_REVERSIBLE));
      return false;
    }
    const workspaceId = Number(deposit.workspace_id);
    const entry = await returnEntry(books.database, workspaceId, Number(deposit.transaction_id));
    const prepared = await preparePosting(books, [{ entries: [entry] }]);
    return books.database.transaction({ workspaces: [workspaceId] }, async (tx) => {
      const [held] = await tx.pipeline([bind(HOLD_REVERSAL, reversalId)] as const);
      if (held.length === 0) return false;
      const { context } = await lockAndRead(tx, prepared);
      const posted = requirePosted(decide(context, prepared.proposals[0]!));
      await tx.commit([bind(REVERSE_BANK_DEPOSITS, ...postingValues(posted), [Number(deposit.id)], [reversalId])]);
      return true;
    });
  }

  /** The accounts that the entries may name, and the suspense accounts, by their codes. */
  private async accountsOf(entries: readonly EntryRow[]): Promise<ReadonlyMap<string, NamedAccount>> {
    const suspense = this.settings.receiving.flatMap(({ suspenseAccount: code }) => (code ? [normalCode(code)] : []));
    const codes = [...new Set([...entries.flatMap((entry) => codesOf(textsOf(entry))), ...suspense])];
    const [rows] = await this.settings.books.database.pipeline({}, [bind(FIND_CODES, codes)] as const);
    return new Map(
      rows.map(({ code, workspace_id, account_id, currency_id, currency }) => [
        code,
        {
          workspaceId: Number(workspace_id) as WorkspaceId,
          accountId: Number(account_id),
          currencyId: currency_id,
          currency,
        },
      ]),
    );
  }

  private bookingOf(entry: EntryRow, accounts: ReadonlyMap<string, NamedAccount>): Booking {
    const suspense = this.suspenseOf(entry, accounts);
    const matched = matchEntry(textsOf(entry), accounts);
    const targets: Target[] = [];
    // The operator's own account may be named like any other. Its money is then no unmatched deposit.
    if (matched?.currency === entry.currency) targets.push(targetOf(entry, matched, 'booked'));
    if (suspense?.currency === entry.currency) targets.push(targetOf(entry, suspense, 'unmatched'));
    return { entryId: Number(entry.id), targets };
  }

  private suspenseOf(entry: EntryRow, accounts: ReadonlyMap<string, NamedAccount>): NamedAccount | undefined {
    const receiving = this.settings.receiving.find(
      ({ id, currency }) => id === entry.bank_account && currency === entry.currency,
    );
    const code = receiving?.suspenseAccount;
    return code === undefined ? undefined : accounts.get(normalCode(code));
  }

  /** Once for each entry, and again after a restart. */
  private report(entryId: number, error: Error): void {
    const key = String(entryId);
    if (this.reported.has(key)) return;
    if (this.reported.size >= REPORTED_MAX) this.reported.clear();
    this.reported.add(key);
    this.settings.onError?.(error, { chore: this.name });
  }
}

const waits = (entryId: number, reason: string): DepositWaits =>
  new DepositWaits(`entry ${entryId} of a bank account waits for an operator: ${reason}`);

/** After the last page, the walk begins again. */
const nextPosition = (rows: readonly { readonly id: bigint }[]): bigint =>
  rows.length === DEPOSITS_MAX ? rows.at(-1)!.id : 0n;

const textsOf = ({ creditor_reference, remittance }: EntryRow) => ({
  creditorReference: creditor_reference ?? undefined,
  remittance: remittance ?? undefined,
});

function targetOf(
  { amount, reference }: EntryRow,
  { workspaceId, accountId, currencyId }: NamedAccount,
  status: Target['status'],
): Target {
  return { workspaceId, status, proposal: depositProposal({ workspaceId, accountId, currencyId, amount, reference }) };
}

/** Money of a bank account that enters an account of a customer. */
export function depositProposal(deposit: {
  readonly workspaceId: number;
  readonly accountId: number;
  readonly currencyId: number;
  /** In minor units. */
  readonly amount: bigint;
  readonly reference: string | null;
}): Proposal {
  const { workspaceId, accountId, currencyId, amount, reference } = deposit;
  const movement = { currencyId, amount: minorUnits(amount), type: 'funding' };
  return {
    entries: [
      {
        workspaceId,
        status: 'completed',
        legs: [
          { ...movement, account: accountId, direction: 'credit', description: reference ?? undefined },
          { ...movement, account: 'settlement', direction: 'debit' },
        ],
      },
    ],
  };
}

interface Decision {
  readonly posted?: PostedTransaction;
  readonly status?: Target['status'];
  readonly refusal?: Refusal;
}

/** The first account that takes the money, or why the last one does not. */
function decideFirst(context: DecisionContext, targets: readonly Target[]): Decision {
  let refusal: Refusal | undefined;
  for (const { proposal, status } of targets) {
    const { posted, refused } = decide(context, proposal);
    if (posted) return { posted: posted[0]!, status };
    refusal = refused;
  }
  return refusal ? { refusal } : {};
}

/** The chore, if the deployment has bank accounts whose entries are read. */
export const bookDeposits = (
  books: Books,
  receiving: readonly ReceivingAccount[],
  onError: WorkerOptions['onError'],
): readonly Chore[] => (receiving.length === 0 ? [] : [new BookDeposits({ books, receiving, onError })]);
