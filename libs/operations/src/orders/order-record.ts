import type { Order } from '@banking/domain';
import { ORDER, type OrderFacts } from '../resources/compose-order.js';
import { packingNames, unpackingNames } from '../resources/columns.js';
import type { ReferenceData } from '../reference/reference-data.js';

/**
 * The record of a response to an order: the version of the record, the version of the reference data, and what the response is
 * composed of. A record of version 1 is the response itself, a JSON object.
 */
const VERSION = 2;

/**
 * The facts in the order of a record, which never changes. A new fact is appended: records from before lack it, and programs from before
 * do not read it.
 */
const NAMES = [
  ...['orderId', 'orderAmount', 'orderStatus', 'orderType', 'orderDescription', 'purposeCode', 'repeatUnit'],
  ...['repeatValue', 'startAt', 'stopAt', 'pausedAt', 'pauseReason', 'quoteId', 'externalReference', 'metadata'],
  ...['orderCreatedAt', 'orderUpdatedAt', 'executions'],
  ...['accountId', 'accountName', 'accountStatus', 'accountType', 'accountAlias', 'accountCode', 'accountCreatedAt'],
  ...['accountUpdatedAt', 'balanceId', 'balance', 'balanceAt', 'currencyId', 'productId'],
  ...['recipientId', 'recipientName', 'recipientAccountCode', 'recipientAlias', 'recipientSaved', 'recipientCreatedAt'],
  ...['recipientUpdatedAt', 'recipientCurrencyId', 'recipientShowsCurrency', 'bankId'],
  ...['beneficiaryId', 'beneficiaryData', 'beneficiaryCreatedAt', 'beneficiaryUpdatedAt'],
  ...['placedBy', 'cancelledBy'],
] as const satisfies readonly (keyof OrderFacts)[];

const valuesOf = packingNames<OrderFacts>(NAMES);
const factsOf = unpackingNames<OrderFacts>(NAMES);

export function orderRecord(referenceVersion: bigint, facts: OrderFacts): string {
  // Of the facts, only ids are read as bigint. They are safe integers.
  const values = valuesOf(facts).map((id) => (typeof id === 'bigint' ? Number(id) : id));
  return JSON.stringify([VERSION, Number(referenceVersion), values]);
}

/** The response of a record, byte for byte. @throws Refusal `unavailable` */
export async function responseOf(reference: Pick<ReferenceData, 'ofVersion'>, record: string): Promise<Order> {
  const parsed: unknown = JSON.parse(record);
  if (!isRecord(parsed)) return parsed as Order;
  const [, referenceVersion, values] = parsed;
  return ORDER.compose(await reference.ofVersion(BigInt(referenceVersion)), factsOf(values));
}

/** SQL of a fact of a record: the column `record` is the record as `jsonb`. */
export const recordedFact = (name: (typeof NAMES)[number]): string => `(record #>> '{2,${NAMES.indexOf(name)}}')`;

const isRecord = (parsed: unknown): parsed is readonly [number, number, readonly unknown[]] => {
  if (!Array.isArray(parsed)) return false;
  if (parsed[0] !== VERSION) throw new Error(`a record of a response has the unknown version ${String(parsed[0])}`);
  return true;
};
