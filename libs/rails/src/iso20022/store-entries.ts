import { minorUnits, toDecimal } from '@banking/domain';
import { bind, type DbTransaction, sqlStatement } from '@banking/postgres';
import type { EntryRecord } from './bank-records.js';
import { cutText, refuse } from './xml-values.js';

/** What the entries of a chunk belong to. They are those of a bank account, whatever rail reads of them. */
export interface EntryHome {
  readonly rail: string;
  /** The number of the account in `RAILS_FILE`. */
  readonly bankAccount: string;
  readonly currency: string;
  readonly fileId: bigint;
  /** Of a `camt.053` with balances. */
  readonly statementId: bigint | null;
  /** Of the file, in hexadecimal. */
  readonly digest: string;
}

/*
 * In the transaction that fills the table there are no statistics, and all indexes look equally good. So the statements below leave PostgreSQL
 * no choice, which would otherwise read the whole table for each entry: they find entries by an identity or a reference alone, compare the
 * account by `is not distinct from`, which no index serves, and have no order by an index. `offset 0` keeps a subquery from becoming a
 * join.
 */

/**
 * Whether a statement has the name already for another entry: it is booked on one day only, and a name that payers choose does not make
 * entries of two statements one.
 */
const IS_ANOTHER = `coalesce(o.statement_id is not null and $4::bigint is not null and g.status = 'booked' and (
             o.booked_on <> g.booked_on or o.statement_id <> $4 and coalesce(g.bank_reference, g.batch_reference, g.uetr) is null), false)`;

/** The identity of an entry of another file that has the reference and says the same. A subquery for each entry, for the reason above. */
const knownBy = (reference: 'uetr' | 'bank_reference') => `(
           select min(o.identity) from (
             select o.identity from bank_entry o
             where o.${reference} = g.${reference} and (o.bank_account, o.currency) is not distinct from ($2, g.currency)
             and (o.direction, o.amount, o.is_reversal, o.return_reason is null)
               = (g.direction, g.amount, g.is_reversal, g.return_reason is null)
             and not coalesce(o.uetr <> g.uetr or o.bank_reference <> g.bank_reference, false)
             and o.file_id is distinct from $3 and ($4::bigint is null or o.statement_id is distinct from $4)
             and o.identity <> all ($5::text[])
             and coalesce(abs(coalesce(o.booked_on, o.value_on) - g.day) <= 30, true) and not ${IS_ANOTHER}
             offset 0) o)`;

/**
 * A reference is that of the same entry within 30 days: some banks give theirs again next year, or sooner. An entry that is listed again
 * becomes booked, and gets its dates and what it lacked; dates of a statement count before those of a notification. Files may name an entry
 * by different references: one of the same amount is the same by its UETR, which is one in the world, or by the reference of the bank.
 */
const STORE_ENTRIES = sqlStatement<{ id: bigint }>(
  'store_bank_entries',
  `with given as (
     select e.*, coalesce(e.booked_on, e.value_on) as day
     from unnest($5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[], $10::boolean[], $11::date[], $12::date[], $13::text[],
            $14::text[], $15::text[], $16::text[], $17::integer[], $18::text[], $19::text[], $20::text[], $21::text[])
       with ordinality e(identity, direction, amount, currency, status, is_reversal, booked_on, value_on, end_to_end_id,
         uetr, bank_reference, batch_reference, batch_count, creditor_reference, remittance, party, return_reason, place)
   ), compared as (
     select g.place,
       case when g.identity !~ '#[0-9]+$' and not exists (
           select from bank_entry o where o.identity = g.identity and (o.bank_account, o.currency) is not distinct from ($2, g.currency))
         then coalesce(${knownBy('uetr')}, ${knownBy('bank_reference')}) end as known
     from given g
   ), named as (
     select place, known from (select c.*, row_number() over (partition by known order by place) as count from compared c) c
     where known is not null and count = 1
   )
   insert into bank_entry as b (rail, bank_account, file_id, identity, direction, amount, currency, status, is_reversal, booked_on,
     value_on, statement_id, end_to_end_id, uetr, bank_reference, batch_reference, batch_count, creditor_reference, remittance, party,
     return_reason)
   select $1, $2, $3,
     case when exists (
       select from bank_entry o where o.identity = g.identity and (o.bank_account, o.currency) is not distinct from ($2, g.currency)
         and (abs(coalesce(o.booked_on, o.value_on) - g.day) > 30 or ${IS_ANOTHER}))
       then g.identity || '@' || case when coalesce(g.bank_reference, g.batch_reference, g.uetr) is null then $4::text else g.day::text end
       else coalesce(n.known, g.identity) end,
     g.direction, g.amount, g.currency, g.status, g.is_reversal, g.booked_on, g.value_on,
     case when g.status = 'booked' then $4::bigint end, g.end_to_end_id, g.uetr, g.bank_reference, g.batch_reference, g.batch_count,
     g.creditor_reference, g.remittance, g.party::jsonb, g.return_reason
   from given g left join named n on n.place = g.place order by g.place
   on conflict (identity, bank_account, currency) do update set
     status = case when b.status = 'booked' then b.status else excluded.status end,
     booked_on = case when b.statement_id is null and excluded.statement_id is not null
       then coalesce(excluded.booked_on, b.booked_on) else coalesce(b.booked_on, excluded.booked_on) end,
     value_on = case when b.statement_id is null and excluded.statement_id is not null
       then coalesce(excluded.value_on, b.value_on) else coalesce(b.value_on, excluded.value_on) end,
     statement_id = coalesce(b.statement_id, excluded.statement_id),
     end_to_end_id = coalesce(b.end_to_end_id, excluded.end_to_end_id), uetr = coalesce(b.uetr, excluded.uetr),
     bank_reference = coalesce(b.bank_reference, excluded.bank_reference),
     batch_reference = coalesce(b.batch_reference, case when b.batch_count is null and excluded.batch_count is null then excluded.batch_reference end),
     return_reason = coalesce(b.return_reason, excluded.return_reason),
     creditor_reference = case when b.outcome is null then coalesce(b.creditor_reference, excluded.creditor_reference) else b.creditor_reference end,
     remittance = case when b.outcome is null then coalesce(b.remittance, excluded.remittance) else b.remittance end,
     party = case when b.outcome is null then excluded.party || b.party else b.party end
   where b.status = 'pending' and excluded.status = 'booked'
     or b.end_to_end_id is null and excluded.end_to_end_id is not null
     or b.uetr is null and excluded.uetr is not null
     or b.bank_reference is null and excluded.bank_reference is not null
     or b.batch_reference is null and excluded.batch_reference is not null and excluded.batch_count is null and b.batch_count is null
     or b.return_reason is null and excluded.return_reason is not null
     or b.outcome is null and (b.creditor_reference is null and excluded.creditor_reference is not null
       or b.remittance is null and excluded.remittance is not null or excluded.party || b.party <> b.party)
     or b.statement_id is null and excluded.statement_id is not null
     or b.booked_on is null and excluded.booked_on is not null
     or b.value_on is null and excluded.value_on is not null
   returning b.id`,
);

/**
 * Behind these locks, `SETTLE_BATCHES` reads what a worker has made of a whole meanwhile: it locks an entry until its deposit is committed.
 * In the order of their ids, as `hold_credit_entries`.
 */
const HOLD_BATCHES = sqlStatement(
  'hold_bank_batches',
  `select b.id from bank_entry b
   where b.id = any(array(
     select w.id
     from (select distinct coalesce(batch_reference, bank_reference) as reference from bank_entry where id = any($3::bigint[])) t
     cross join lateral (
       select w.id from bank_entry w
       where w.bank_reference = t.reference and (w.bank_account, w.currency) is not distinct from ($1, $2)
         and w.batch_reference is null and w.outcome is null offset 0) w
     where exists (select from bank_entry p where p.batch_reference = t.reference and p.batch_count is null offset 0)))
   order by b.id for update`,
);

/** A reference is given again, as that of an entry is. */
const IS_OF_WHOLE = `coalesce(abs(w.day - p.day) <= 30, true)
         and not coalesce(w.statement_id is not null and p.statement_id is not null and w.booked_on <> p.booked_on, false)`;

/**
 * The whole of several payments and their details, from any two files, are not both booked. Details that sum to the whole take its place;
 * where the whole is in the books already, or an operator has ignored it, they are the ones that are ignored. Details are booked if their
 * whole is.
 */
const SETTLE_BATCHES = sqlStatement<{ id: bigint }>(
  'settle_bank_batches',
  `with touched as (
     select distinct coalesce(batch_reference, bank_reference) as reference from bank_entry
     where id = any($3::bigint[]) and coalesce(batch_reference, bank_reference) is not null
   ), part as (
     select t.reference, p.*, coalesce(p.booked_on, p.value_on) as day
     from touched t cross join lateral (
       select * from bank_entry p
       where p.batch_reference = t.reference and (p.bank_account, p.currency) is not distinct from ($1, $2) and p.batch_count is null offset 0) p
   ), whole as (
     select distinct on (r.reference, w.is_reversal, w.day) r.reference, w.*
     from (select distinct reference from part) r cross join lateral (
       select *, coalesce(booked_on, value_on) as day from (
         select * from bank_entry where bank_reference = r.reference and batch_reference is null
         union all
         select * from bank_entry where batch_reference = r.reference and batch_count is not null) w
       where (w.bank_account, w.currency) is not distinct from ($1, $2) and w.status = 'booked' offset 0) w
     where (
       select sum(case when p.direction = w.direction then p.amount else -p.amount end)
       from part p where p.reference = r.reference and p.is_reversal = w.is_reversal and ${IS_OF_WHOLE}) = w.amount
     order by r.reference, w.is_reversal, w.day, w.id
   ), replaced as (
     update bank_entry b set outcome = 'ignored' from whole w where b.id = w.id and b.outcome is null
   )
   update bank_entry b set
     outcome = coalesce(b.outcome, case when w.outcome in ('payout', 'return', 'deposit') or w.note is not null then 'ignored' end),
     status = 'booked', booked_on = coalesce(b.booked_on, w.booked_on), value_on = coalesce(b.value_on, w.value_on),
     statement_id = coalesce(b.statement_id, w.statement_id)
   from part p join whole w on w.reference = p.reference and w.is_reversal = p.is_reversal and ${IS_OF_WHOLE}
   where b.id = p.id and (b.outcome is null or b.statement_id is null and w.statement_id is not null)
   returning b.id`,
);

/**
 * Entries of our payments, known by their reference and the same amount: money that left, and money that is back. A second debit or
 * credit of a payment is left to an operator, and so is one of another amount, and each of a payment that a restored database lost. An event
 * goes to the rail of its payment, which may have had the bank account before.
 */
const MATCH_PAYMENTS = sqlStatement(
  'match_bank_entries',
  `with candidate as (
     select distinct on (p.key, b.direction) b.id, b.direction, b.return_reason, b.identity, b.bank_account,
       p.rail, p.key, p.amount, p.currency
     from bank_entry b join file_payment p on p.end_to_end_id = b.end_to_end_id
     where b.id = any($1::bigint[]) and b.status = 'booked' and b.outcome is null and b.batch_count is null
       and p.amount = b.amount and p.currency = b.currency and p.is_in_books
       and (b.direction = 'credit' or not b.is_reversal and b.return_reason is null)
       and not exists (
         select from bank_entry o where o.payout_key = p.key
           and o.outcome = case b.direction when 'debit' then 'payout' else 'return' end)
     order by p.key, b.direction, b.id, p.rail <> b.rail
   ), known as (
     update bank_entry b set outcome = case c.direction when 'debit' then 'payout' else 'return' end, payout_key = c.key
     from candidate c where b.id = c.id
   ), cursor as (
     insert into rail_cursor (rail) select distinct rail from candidate on conflict do nothing
   )
   insert into rail_event (rail, position, key, provider_event, status, reason_code, amount, currency, is_return)
   select c.rail, $2 || ':entry:' || c.id, c.key, 'entry:' || md5(c.bank_account || ' ' || c.identity),
     case c.direction when 'debit' then 'ACSC' else 'RJCT' end, c.return_reason, c.amount, c.currency, c.direction = 'credit'
   from candidate c
   where case when c.key ~ '^payout-[1-9][0-9]{0,15}-' then is_served_here(split_part(c.key, '-', 2)::bigint) else true end
   order by c.id
   on conflict (rail, position) do nothing`,
);

interface ContradictedRow {
  /** Of the entry of the earlier file. */
  identity: string;
  amount: bigint;
  file_name: string | null;
  /** Of the new entry, with its amount. */
  bank_reference: string;
  direction: EntryRecord['direction'];
  is_reversal: boolean;
  new_amount: bigint;
}

/** Booked entries of earlier files with the reference, direction and day of new ones, but another amount. */
const FIND_CONTRADICTED = sqlStatement<ContradictedRow>(
  'find_contradicted_bank_entries',
  `select distinct on (o.identity) o.identity, o.amount, f.name as file_name, b.bank_reference, b.direction, b.is_reversal,
     b.amount as new_amount
   from bank_entry b cross join lateral (
     select * from bank_entry o
     where o.bank_reference = b.bank_reference and (o.bank_account, o.currency) is not distinct from (b.bank_account, b.currency) offset 0) o
   left join bank_file f on f.id = o.file_id
   where b.id = any($1::bigint[]) and b.file_id = $2 and b.status = 'booked' and o.status = 'booked' and o.file_id is distinct from $2
     and o.direction = b.direction and o.is_reversal = b.is_reversal and o.amount <> b.amount
     and coalesce(o.booked_on, o.value_on, b.booked_on) is not distinct from coalesce(b.booked_on, b.value_on, o.booked_on)
   order by o.identity, b.id`,
);

/** An entry that gives another amount than an earlier file for the same reference and day. */
export interface Contradiction extends Pick<EntryRecord, 'place' | 'bankReference' | 'amount' | 'currency'> {
  readonly earlier: {
    readonly identity: string;
    readonly amount: bigint;
    /** The name of the file; null for an entry of the demo data. */
    readonly file: string | null;
  };
}

/**
 * Stores entries of one bank account, no two with the same identity, and what follows from them.
 *
 * @returns in the order of the entries, those of other files that they contradict, unless this file lists them too
 */
export async function storeEntries(
  tx: DbTransaction,
  home: EntryHome,
  entries: readonly EntryRecord[],
): Promise<readonly Contradiction[]> {
  const column = <T>(read: (entry: EntryRecord) => T) => entries.map((entry) => read(entry) ?? null);
  const [stored] = await tx.pipeline([
    bind(
      STORE_ENTRIES,
      ...[home.rail, home.bankAccount, home.fileId, home.statementId],
      column((entry) => entry.identity),
      column((entry) => entry.direction),
      column((entry) => entry.amount),
      column((entry) => entry.currency),
      column((entry) => entry.status),
      column((entry) => entry.isReversal),
      column((entry) => entry.bookedOn),
      column((entry) => entry.valueOn),
      column((entry) => entry.endToEndId),
      column((entry) => entry.uetr),
      column((entry) => entry.bankReference),
      column((entry) => entry.batchReference),
      column((entry) => entry.batchCount),
      column((entry) => entry.creditorReference),
      column((entry) => entry.remittance),
      column((entry) => JSON.stringify(entry.party)),
      column((entry) => entry.returnReason),
    ),
  ] as const);
  const ids = stored.map(({ id }) => id);
  if (ids.length === 0) return [];
  const batches = [home.bankAccount, home.currency, ids];
  const [contradicted, , settled] = await tx.pipeline([
    bind(FIND_CONTRADICTED, ids, home.fileId),
    bind(HOLD_BATCHES, ...batches),
    bind(SETTLE_BATCHES, ...batches),
  ] as const);
  await tx.pipeline([bind(MATCH_PAYMENTS, [...ids, ...settled.map(({ id }) => id)], home.digest)]);
  return contradictionsOf(entries, contradicted);
}

function contradictionsOf(entries: readonly EntryRecord[], rows: readonly ContradictedRow[]): readonly Contradiction[] {
  const byName = new Map<string, Contradiction['earlier'][]>();
  for (const { identity, amount, file_name: file, ...entry } of rows) {
    const name = [entry.bank_reference, entry.direction, entry.is_reversal, entry.new_amount].join(' ');
    const earlier = { identity, amount, file };
    const known = byName.get(name);
    if (known) known.push(earlier);
    else byName.set(name, [earlier]);
  }
  return entries.flatMap(({ place, bankReference, amount, currency, direction, isReversal }) =>
    (byName.get([bankReference, direction, isReversal, amount].join(' ')) ?? []).map((earlier) => ({
      ...{ place, bankReference, amount, currency, earlier },
    })),
  );
}

/** @throws BankFileError with the place and the reference of the entry, both amounts, and the earlier file */
export function refuseContradiction({ place, bankReference, amount, currency, earlier }: Contradiction): never {
  const shown = (value: bigint) => `${toDecimal(minorUnits(value), currency)} ${currency}`;
  // The reason of a refused file has at most 500 characters.
  const named = (text: string | undefined) => JSON.stringify(cutText(text, 100));
  const file = earlier.file === null ? 'an earlier file' : named(earlier.file);
  refuse(
    'An entry has another amount than an earlier file gave for the same reference and day: ' +
      `${named(bankReference)} has ${shown(amount)}, and had ${shown(earlier.amount)} in ${file}.`,
    () => place,
  );
}
