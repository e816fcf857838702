import { bind, type DbTransaction, sqlStatement } from '@banking/postgres';
import { BankFileError, type StatusRecord } from './bank-records.js';

/** A bank may have received a file before the row says that it was handed over. */
const FIND_FILE = sqlStatement<{ id: bigint }>(
  'find_reported_payment_file',
  'select id from payment_file where rail = $1 and message_id = $2',
);
const MARK_WRITTEN = sqlStatement(
  'mark_reported_payment_file',
  `update payment_file set written_at = clock_timestamp() where id = $1 and prepared_at is not null and written_at is null`,
);

/** The event of the same status of the same payment is one, whatever file reports it. */
const EVENT_COLUMNS = `rail, position, key, provider_event, status, reason_code, message, amount, currency`;
const IS_SERVED = `case when p.key ~ '^payout-[1-9][0-9]{0,15}-' then is_served_here(split_part(p.key, '-', 2)::bigint) else true end`;

const STORE_NAMED = sqlStatement<{ end_to_end_id: string }>(
  'store_named_statuses',
  `with given as (
     select e.*, p.key, p.amount, p.currency
     from unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[])
       with ordinality e(end_to_end_id, status, reason_code, message, is_event, place)
     join file_payment p on p.rail = $1 and p.end_to_end_id = e.end_to_end_id and p.file_id = $2
   ), stored as (
     insert into rail_event (${EVENT_COLUMNS})
     select $1, $3 || ':' || p.end_to_end_id || ':' || p.status, p.key, 'pain.002:' || p.status, p.status, p.reason_code, p.message,
       p.amount, p.currency
     from given p where p.is_event and ${IS_SERVED} order by p.place
     on conflict (rail, position) do nothing
   )
   select end_to_end_id from given`,
);

/** For the payments of a file, or of one of its `PmtInf`, that the report does not name. */
const STORE_OTHERS = sqlStatement<{ end_to_end_id: string }>(
  'store_other_statuses',
  `with other as (
     select p.* from file_payment p
     where p.file_id = $2 and ($4::text is null or p.payment_information_id = $4) and p.end_to_end_id <> all ($5::text[])
   ), stored as (
     insert into rail_event (${EVENT_COLUMNS})
     select $1, $3 || ':' || p.end_to_end_id || ':' || $6::text, p.key, 'pain.002:' || $6::text, $6::text, $7::text, $8::text,
       p.amount, p.currency
     from other p where $9::boolean and ${IS_SERVED} order by p.id
     on conflict (rail, position) do nothing
   )
   select end_to_end_id from other`,
);

/** Payments of a report at most. We write 1,000 into a file. */
const NAMED_MAX = 100_000;
const CHUNK = 1_000;

/** The bank has the payment already: it is none that failed. EPC and ISO 20022 ExternalStatusReason1Code. */
const IS_DUPLICATE = /^(?:AM05|DU0[1-5]|DUPL)$/;

/** What would be final, but is neither an arrival nor a rejection: an operator asks the bank. */
const UNUSUAL_END: ReadonlySet<string> = new Set(['CANC', 'BLCK']);

type Meaning = 'event' | 'duplicate' | 'unusual' | 'nothing';

function meaningOf({ status, reasonCode }: StatusRecord): Meaning {
  if (status === undefined || status === 'PART') return 'nothing';
  if (status === 'RJCT' && reasonCode !== undefined && IS_DUPLICATE.test(reasonCode)) return 'duplicate';
  return UNUSUAL_END.has(status) ? 'unusual' : 'event';
}

/** Makes events of the statuses of one `pain.002`. */
export class StatusStore {
  private file: { readonly id: bigint; readonly messageId: string } | undefined;
  private readonly named = new Set<string>();
  private waiting: StatusRecord[] = [];
  private group: StatusRecord | undefined;
  private readonly informations: StatusRecord[] = [];
  private unknownCount = 0;
  private readonly counts = { duplicate: 0, unusual: 0 };

  /** @param digest of the file, in hexadecimal */
  constructor(
    private readonly tx: DbTransaction,
    private readonly rail: string,
    private readonly digest: string,
  ) {}

  /** @throws BankFileError if it is about a message that is not ours */
  async add(record: StatusRecord): Promise<void> {
    if (!this.file) await this.findFile(record.originalMessageId);
    if (record.endToEndId !== undefined) {
      if (this.named.size >= NAMED_MAX) throw new BankFileError(`It names more than ${NAMED_MAX} payments.`);
      this.named.add(record.endToEndId);
      this.waiting.push(record);
      if (this.waiting.length >= CHUNK) await this.storeNamed();
    } else if (record.paymentInformationId === undefined) this.group = record;
    else this.informations.push(record);
  }

  /** @returns what an operator should know */
  async end(): Promise<readonly string[]> {
    await this.storeNamed();
    for (const record of this.informations) await this.storeOthers(record);
    if (this.group) await this.storeOthers(this.group);
    const { duplicate, unusual } = this.counts;
    return [
      ...(duplicate > 0
        ? [
            `Payments that the bank refused as duplicates, which it has already, so that none failed by this: ${duplicate}.`,
          ]
        : []),
      ...(unusual > 0 ? [`Payments that the bank cancelled or blocked, about which you must ask it: ${unusual}.`] : []),
      ...(this.unknownCount > 0 ? [`Payments that our file does not have: ${this.unknownCount}.`] : []),
    ];
  }

  private async findFile(messageId: string): Promise<void> {
    const [[row]] = await this.tx.pipeline([bind(FIND_FILE, this.rail, messageId)] as const);
    if (!row) throw new BankFileError('It is about a file of payments that is not ours.');
    this.file = { id: row.id, messageId };
    await this.tx.pipeline([bind(MARK_WRITTEN, row.id)]);
  }

  private async storeNamed(): Promise<void> {
    const records = this.waiting;
    this.waiting = [];
    if (records.length === 0) return;
    const [known] = await this.tx.pipeline([
      bind(
        STORE_NAMED,
        ...[this.rail, this.file?.id, this.digest],
        records.map(({ endToEndId }) => endToEndId ?? null),
        records.map(({ status }) => status ?? null),
        records.map(({ reasonCode }) => reasonCode ?? null),
        records.map(({ reasonText }) => reasonText ?? null),
        records.map((record) => meaningOf(record) === 'event'),
      ),
    ] as const);
    const isKnown = new Set(known.map(({ end_to_end_id }) => end_to_end_id));
    for (const record of records) {
      if (isKnown.has(record.endToEndId ?? '')) this.count(meaningOf(record), 1);
      else this.unknownCount += 1;
    }
  }

  private async storeOthers(record: StatusRecord): Promise<void> {
    const meaning = meaningOf(record);
    if (meaning === 'nothing') return;
    const [others] = await this.tx.pipeline([
      bind(
        STORE_OTHERS,
        ...[this.rail, this.file?.id, this.digest, record.paymentInformationId ?? null, [...this.named]],
        ...[record.status, record.reasonCode ?? null, record.reasonText ?? null, meaning === 'event'],
      ),
    ] as const);
    this.count(meaning, others.length);
    if (record.paymentInformationId !== undefined)
      for (const { end_to_end_id } of others) this.named.add(end_to_end_id);
  }

  private count(meaning: Meaning, count: number): void {
    if (meaning === 'duplicate' || meaning === 'unusual') this.counts[meaning] += count;
  }
}
