import {
  type ExportedConversion,
  type ExportedEvent,
  type ExportedExecution,
  type ExportedOrder,
  type ExportedRecipient,
  type ExportLine,
} from '@banking/domain/proof';
import { rangeKey, type RangeOptions, rangesOf } from '@banking/ledger';
import { digestOfConversion, digestOfOrder, digestOfRecipient } from '@banking/operations';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import {
  CONVERSION_JSON,
  conversionFrom,
  type ConversionJson,
  contentOfRow,
  personOf,
  RECIPIENT_JSON,
  recipientFrom,
  type RecipientJson,
  type StoredOrder,
  textsOf,
} from '@banking/operations/verification';

/** Rows that are read in one database transaction, and must fit into memory. */
const RANGE_ROWS = 1_000;

const EXECUTION_JSON = `json_strip_nulls(json_build_object(
  'id', e.id, 'orderId', e.order_id, 'sequence', e.sequence, 'status', e.status, 'scheduledAt', rfc3339(e.scheduled_at),
  'failureCode', e.failure_code, 'transactionId', e.transaction_id, 'executedAt', rfc3339(e.executed_at)))`;

type OrderRow = Omit<ExportedOrder, 'digest' | 'texts' | 'content'> & { readonly content: StoredOrder };
const EXPORTED_ORDER = `json_build_object('content', ${contentOfRow('o')}, 'status', o.status, 'createdAt', rfc3339(o.created_at))`;

const RECIPIENTS = sqlStatement<{ recipient: RecipientJson }>(
  'export_recipients',
  `select ${RECIPIENT_JSON} as recipient
   from recipient r left join beneficiary n on n.workspace_id = r.workspace_id and n.recipient_id = r.id
   where r.workspace_id = $1 and r.id > $2 and r.id <= $3 order by r.id`,
);

/** Orders that run later, with their executions without a transaction. */
const LATER_ORDERS = sqlStatement<{ order: OrderRow; executions: readonly ExportedExecution[] | null }>(
  'export_orders',
  `select ${EXPORTED_ORDER} as order,
          (select json_agg(${EXECUTION_JSON} order by e.sequence) from execution e
           where e.workspace_id = $1 and e.order_id = o.id and e.transaction_id is null) as executions
   from customer_order o
   where o.workspace_id = $1 and o.id > $2 and o.id <= $3 and o.type <> 'instant' order by o.id`,
);

interface DetailsRow {
  readonly id: bigint;
  readonly order: OrderRow | null;
  readonly execution: ExportedExecution | null;
  readonly conversion: ConversionJson | null;
  readonly events: readonly ExportedEvent[] | null;
}

const DETAILS = sqlStatement<DetailsRow>(
  'export_details',
  `select x.id,
          (select ${EXPORTED_ORDER} from execution e join customer_order o on o.workspace_id = $1 and o.id = e.order_id
           where e.workspace_id = $1 and e.transaction_id = x.id and o.type = 'instant') as order,
          (select ${EXECUTION_JSON} from execution e where e.workspace_id = $1 and e.transaction_id = x.id) as execution,
          (select ${CONVERSION_JSON} from conversion c where c.workspace_id = $1 and c.transaction_id = x.id) as conversion,
          (select json_agg(json_strip_nulls(json_build_object(
                    'id', v.id, 'transactionId', x.id, 'providerEvent', v.provider_event, 'status', v.status,
                    'reasonCode', v.reason_code, 'message', v.message, 'createdAt', rfc3339(v.created_at))) order by v.id)
           from remittance_event v where v.workspace_id = $1 and v.transaction_id = x.id) as events
   from unnest($2::bigint[]) x(id)`,
);

/** The lines of all recipients, in ranges. */
export const recipientLines = linesInRanges(['recipients', rangeKey('recipient')], RECIPIENTS, ({ recipient }) => [
  { recipient: exportedRecipient(recipient) },
]);

/** The lines of all orders that run later, each with its executions without a transaction, in ranges. */
export const laterOrderLines = linesInRanges(
  ['orders', rangeKey('customer_order')],
  LATER_ORDERS,
  ({ order, executions }) => [
    { order: exportedOrder(order) },
    ...(executions ?? []).map((execution) => ({ execution })),
  ],
);

/** The lines that follow each of these transactions. */
export async function detailLines(
  database: Database,
  workspaceId: number,
  transactionIds: readonly number[],
): Promise<ReadonlyMap<number, readonly ExportLine[]>> {
  if (transactionIds.length === 0) return new Map();
  const query = [bind(DETAILS, workspaceId, transactionIds)] as const;
  const [rows] = await database.pipeline({ workspaces: [workspaceId] }, query);
  return new Map(rows.map((row) => [Number(row.id), linesOf(row)]));
}

function linesOf({ id, order, execution, conversion, events }: DetailsRow): ExportLine[] {
  return [
    ...(order ? [{ order: exportedOrder(order) }] : []),
    ...(execution ? [{ execution }] : []),
    ...(conversion ? [{ conversion: exportedConversion(Number(id), conversion) }] : []),
    ...(events ?? []).map((event) => ({ event })),
  ];
}

function linesInRanges<Row>(
  key: Parameters<typeof rangesOf>[2],
  statement: ReturnType<typeof sqlStatement<Row>>,
  linesOfRow: (row: Row) => readonly ExportLine[],
) {
  return async function* (
    database: Database,
    workspaceId: number,
    { rangeRows = RANGE_ROWS, onRange }: RangeOptions,
  ): AsyncGenerator<readonly ExportLine[], void, undefined> {
    for await (const { after, upto } of rangesOf(database, workspaceId, key, { rangeRows, onRange })) {
      const query = [bind(statement, workspaceId, after, upto)] as const;
      const [rows] = await database.pipeline({ workspaces: [workspaceId] }, query);
      yield rows.flatMap(linesOfRow);
    }
  };
}

function exportedRecipient(row: RecipientJson): ExportedRecipient {
  const content = recipientFrom(row);
  return { content, person: personOf(row), digest: digestOfRecipient(content) };
}

function exportedOrder({ content, ...order }: OrderRow): ExportedOrder {
  return { ...order, content, texts: textsOf(content), digest: digestOfOrder(content) };
}

function exportedConversion(transactionId: number, row: ConversionJson): ExportedConversion {
  const content = conversionFrom(row);
  return { content, digest: digestOfConversion(content), transactionId };
}
