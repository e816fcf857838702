import { type Finding, RANGE_ROWS, type RangeOptions } from '@banking/ledger';
import { recordedFact } from '../orders/order-record.js';
import { bind, sqlStatement, type Database } from '@banking/postgres';

export const ORDER_KEY_CHECK = 'every stored response to an order is of one order of its account, and agrees with it';

interface KeyRow {
  readonly operation: string;
  readonly key: string;
  readonly order_id: bigint | null;
  readonly detail: string | null;
}

/** The fields of an order that never change: its column, the member of a response, the fact of a record. */
const CONSTANT_FIELDS: readonly (readonly [column: string, type: string, member: string, fact: string])[] = [
  ['amount', 'bigint', '{amount}', recordedFact('orderAmount')],
  ['type', 'text', '{type}', recordedFact('orderType')],
  ['description', 'text', '{description}', recordedFact('orderDescription')],
  ['purpose_code', 'text', '{purposeCode}', recordedFact('purposeCode')],
  ['repeat_unit', 'text', '{repeatUnit}', recordedFact('repeatUnit')],
  ['repeat_value', 'int', '{repeatValue}', recordedFact('repeatValue')],
  ['start_at', 'timestamptz', '{startAt}', recordedFact('startAt')],
  ['stop_at', 'timestamptz', '{stopAt}', recordedFact('stopAt')],
  ['quote_id', 'bigint', '{quoteID}', recordedFact('quoteId')],
  ['external_reference', 'text', '{externalReference}', recordedFact('externalReference')],
  ['metadata', 'jsonb', '{metadata}', recordedFact('metadata')],
  ['created_at', 'timestamptz', '{createdAt}', recordedFact('orderCreatedAt')],
  ['account_id', 'bigint', '{edges,account,id}', recordedFact('accountId')],
  ['recipient_id', 'bigint', '{edges,recipient,id}', recordedFact('recipientId')],
];

/** A field of a stored response: of a record, or of version 1, the response itself. */
const answered = (type: string, member: string, fact: string) =>
  `case jsonb_typeof(record) when 'array' then ${fact} else record #>> '${member}' end::${type}`;

const ORDER_ID = answered('bigint', '{id}', recordedFact('orderId'));

/** The message omits the key, which belongs to the caller. */
const ORDER_KEYS = sqlStatement<KeyRow>(
  'verify_order_keys',
  `select i.operation, i.key, i.order_id, case
            when o.id is null then format('a stored response of account %s names order %s, which is not there', i.account, i.order_id)
            when o.account_id::text <> i.account then format('a stored response of account %s names order %s of account %s', i.account, o.id, o.account_id)
            when (${CONSTANT_FIELDS.map(([, type, member, fact]) => answered(type, member, fact)).join(', ')})
                 is distinct from (${CONSTANT_FIELDS.map(([column]) => `o.${column}`).join(', ')})
              then format('the stored response to order %s does not agree with it', o.id) end as detail
   from (select operation, key, record, ${ORDER_ID} as order_id,
                split_part(operation, '/', 2) as account
         from idempotency cross join lateral (select answer::jsonb as record) r
         where workspace_id = $1 and (operation, key) > ($2::text, $3::text) and operation like 'placeOrder/%'
         order by operation, key limit $4) i
   left join customer_order o on o.workspace_id = $1 and o.id = i.order_id
   order by i.operation, i.key`,
);

/**
 * Compares the stored responses to orders with the orders. Reads by account, so that the order ids of one account in memory are enough
 * to detect an order with two responses. Its ranges are over a text key, which `verifyInRanges` does not have.
 */
export async function verifyOrderKeys(
  database: Database,
  workspaceId: number,
  { rangeRows = RANGE_ROWS, onRange }: RangeOptions,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const note = (detail: string) => findings.push({ check: ORDER_KEY_CHECK, workspaceId, detail });
  let last: Pick<KeyRow, 'operation' | 'key'> = { operation: '', key: '' };
  let named = new Set<bigint>();
  let rows: readonly KeyRow[];
  let done = 0;
  do {
    const ask = [bind(ORDER_KEYS, workspaceId, last.operation, last.key, rangeRows)] as const;
    [rows] = await database.pipeline({ workspaces: [workspaceId] }, ask);
    for (const row of rows) {
      if (row.operation !== last.operation) named = new Set();
      last = row;
      if (row.detail !== null) note(row.detail);
      else if (row.order_id !== null && named.has(row.order_id)) note(`order ${row.order_id} has two stored responses`);
      if (row.order_id !== null) named.add(row.order_id);
    }
    done += rows.length;
    await onRange?.({ workspaceId, reading: 'stored responses', done });
  } while (rows.length === rangeRows);
  return findings;
}
