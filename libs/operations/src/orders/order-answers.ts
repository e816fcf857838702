import type { Order } from '@banking/domain';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import type { ReferenceData } from '../reference/reference.js';
import { packingNames, unpackingNames } from '../resources/columns.js';
import {
  executionAsPlaced,
  isWaiting,
  type OrderFacts,
  orderWith,
  statusOfExecution,
} from '../resources/compose-order.js';
import type { AccountRow, RecipientRow } from '../resources/compose-parties.js';

/** Of the records of answers. A program reads no other. */
const VERSION = 1;

/** What of an account in an answer may be another later. */
const ACCOUNT = ['accountStatus', 'accountAlias', 'accountUpdatedAt', 'balanceId', 'balance', 'balanceAt'] as const;

const RECIPIENT = ['recipientAlias', 'recipientSaved', 'recipientUpdatedAt'] as const;

type AccountState = Pick<AccountRow, (typeof ACCOUNT)[number]>;
type RecipientState = Pick<RecipientRow, (typeof RECIPIENT)[number]>;

const accountValues = packingNames<AccountState>(ACCOUNT);
const recipientValues = packingNames<RecipientState>(RECIPIENT);
const accountState = unpackingNames<AccountState>(ACCOUNT);
const recipientState = unpackingNames<RecipientState>(RECIPIENT);

/** The version of the record, that of the reference data, the order, its placer, the status of its first run, and the parties. */
type OrderRecord = readonly [
  version: number,
  referenceVersion: number,
  orderId: number,
  placedBy: number | null,
  executionStatus: string,
  account: readonly unknown[],
  recipient: readonly unknown[],
  /** Of the same workspace. */
  payee: readonly unknown[] | null,
];

/**
 * The record of the answer to a placed order: what may be another when the answer is given again. All else is read from the rows of the
 * order then, which do not change.
 *
 * @param payee the account that is paid, if it is one of the workspace
 */
export function orderRecord(referenceVersion: bigint, facts: OrderFacts, payee: AccountRow | undefined): string {
  const { orderId, placedBy: userId } = facts;
  const record: OrderRecord = [
    VERSION,
    Number(referenceVersion),
    Number(orderId),
    userId === null ? null : Number(userId),
    statusOfExecution(facts.executions![0]!),
    accountValues(facts),
    recipientValues(facts),
    payee ? accountValues(payee) : null,
  ];
  return JSON.stringify(record);
}

/** SQL of the order of a record, null if it is none: the column `record` is the record as `jsonb`. */
export const ORDER_OF_RECORD = `case when record ->> 0 = '${VERSION}' then (record ->> 2)::bigint end`;

const PLACED = orderWith({ latest: '1', before: '2' });

const READ_PLACED = sqlStatement<OrderFacts>(
  'read_placed_order',
  `select ${PLACED.columns} from customer_order t ${PLACED.joins} where t.workspace_id = $1 and t.id = $2`,
);

/** The answer of a record, byte for byte. @throws Refusal `unavailable` */
export async function answerOf(
  { database, reference }: { readonly database: Database; readonly reference: Pick<ReferenceData, 'ofVersion'> },
  workspaceId: number,
  record: string,
): Promise<Order> {
  const read = JSON.parse(record) as OrderRecord;
  if (read[0] !== VERSION) throw new Error(`a record of an answer has the unknown version ${read[0]}`);
  const [, referenceVersion, orderId] = read;
  const [row, versioned] = await Promise.all([
    database.read({ workspaces: [workspaceId] }, bind(READ_PLACED, workspaceId, orderId)),
    reference.ofVersion(BigInt(referenceVersion)),
  ]);
  if (!row) throw new Error('the order of an answer is not there');
  return PLACED.compose(versioned, asPlaced(row, read));
}

/** The order as it was when it was placed. */
function asPlaced(present: OrderFacts, record: OrderRecord): OrderFacts {
  const [, , , placedBy, executionStatus, account, recipient, payee] = record;
  const [execution] = present.executions ?? [];
  if (!execution) throw new Error('the order of an answer has no run');
  return {
    ...present,
    orderStatus: isWaiting(executionStatus) ? 'active' : 'completed',
    orderUpdatedAt: present.orderCreatedAt,
    pausedAt: null,
    pauseReason: null,
    cancelledBy: null,
    placedBy,
    ...accountState(account),
    ...recipientState(recipient),
    executions: [executionAsPlaced(execution, executionStatus, payee ? accountState(payee) : {})],
  };
}
