import { type ExportedOrder, type ExportedRecipient, type ExportLine, exportLine } from '../export-lines.js';
import {
  canonicalConversion,
  canonicalDescription,
  canonicalOrder,
  canonicalOrderTexts,
  canonicalPerson,
  canonicalRecipient,
  type HashedConversion,
  type HashedOrder,
  type HashedRecipient,
  type OrderTexts,
  type RecipientPerson,
  digestOf,
  type TransactionContent,
  transactionHash,
  type TransferContent,
} from '../transaction-hash.js';
import { ExportFault, proveExport } from '../prove-export.js';
import type { Timestamp } from '../timestamp.js';

/** Money from one account to another: minor units. */
export interface Move {
  readonly from: number;
  readonly to: number;
  readonly amount: bigint;
}

const CUSTOMERS = [3, 4, 5];
/** An account of the bank. */
export const SETTLEMENT = 1;
/** A customer account without transfers. */
export const IDLE = 9;

export const WORKSPACE = 7;
/** A recurring order without transactions. */
const IDLE_ORDER: HashedOrder = {
  ...{ id: 499, accountId: 3, recipientId: 12, amount: '5', type: 'recurring', startAt: '2026-12-01T09:00:00+01:00' },
  ...{ repeatUnit: 'monthly', repeatValue: 1, stopAt: '2027-12-01T08:00:00.000000Z' },
};
const SALT = '5a'.repeat(16);
const IDLE_TEXTS: OrderTexts = { salt: SALT, metadata: { invoice: '7' } };
const PERSON: RecipientPerson = { salt: SALT, name: 'Ärzte', accountCode: 'DE00' };
const RECIPIENT: Omit<HashedRecipient, 'personDigest'> = {
  ...{ id: 12, currencyCode: 'EUR', corridorId: 2 },
  ...{ routingCodeType: 'swift', routingCode: 'COBADEFF' },
};
const TEXT = { salt: SALT, description: 'Rechnung für Ä' };
const NOON = '2026-11-21T12:00:00.000000Z' as Timestamp;

/** The accounts that money can move between. */
export const ACCOUNTS: readonly number[] = [SETTLEMENT, ...CUSTOMERS];

/**
 * The export of books in euros with these moves, one for each transaction.
 *
 * @param details adds a recipient, and to each move of a customer its order, execution, conversion and event
 */
export async function exported(
  moves: readonly Move[],
  { details: withDetails = false }: { readonly details?: boolean } = {},
): Promise<ExportLine[]> {
  const recipient = await exportedRecipient();
  const descriptionDigest = await digestOf(canonicalDescription(TEXT));
  const standing: ExportLine[] = withDetails
    ? [await exportedOrder(IDLE_ORDER, IDLE_TEXTS), failedRun(IDLE_ORDER.id)]
    : [];
  const states = new Map([...ACCOUNTS, IDLE].map((id) => [id, { balance: 0n, version: 0, head: '' }]));
  const stateOf = (id: number) => states.get(id)!;
  const transactions: ExportLine[] = [];
  for (const [index, { from, to, amount }] of moves.entries()) {
    const previous = [from, to]
      .filter((id) => id !== SETTLEMENT)
      .map((id) => ({ accountId: id, hash: stateOf(id).head }))
      .filter(({ accountId }, nth, links) => links.findIndex((link) => link.accountId === accountId) === nth);
    const transfers = [
      { id: 100 + 2 * index, accountId: from, direction: 'debit' as const },
      { id: 101 + 2 * index, accountId: to, direction: 'credit' as const },
    ].map(({ id, accountId, direction }): TransferContent => {
      const state = stateOf(accountId);
      state.balance += direction === 'credit' ? amount : -amount;
      const transfer = { id, accountId, currencyCode: 'EUR', direction, type: 'payout', amount: amount.toString() };
      if (accountId === SETTLEMENT) return transfer;
      state.version += 1;
      const details = { descriptionDigest, purpose: 'IR001', feeAmount: '30' };
      const paid = withDetails && { recipientId: RECIPIENT.id, recipientDigest: recipient.digest };
      return {
        ...transfer,
        ...details,
        ...paid,
        accountVersion: state.version,
        balanceAfter: state.balance.toString(),
      };
    });
    const content = { workspaceId: WORKSPACE, transactionId: 40 + index, transfers, previous };
    const own = withDetails && from !== SETTLEMENT ? await detailsOf(index, from, amount) : undefined;
    const digests = {
      createdAt: NOON,
      orderDigest: own?.order.digest,
      conversionDigest: own?.conversion.digest,
    };
    const linked: TransactionContent = { ...content, ...digests, ...(index > 0 && { returnOf: 39 + index }) };
    const hash = await transactionHash(linked);
    for (const { accountId } of previous) stateOf(accountId).head = hash;
    const described = transfers.filter((transfer) => transfer.descriptionDigest !== undefined);
    const descriptions = described.map(({ id }) => ({ ...TEXT, transferId: id }));
    transactions.push({ transaction: { content: linked, hash, descriptions, status: 'pending', updatedAt: NOON } });
    if (!own) continue;
    const { order, execution, conversion, event } = own;
    if (order.content.type !== 'instant') standing.push({ order });
    const lines: ExportLine[] = [{ execution }, { conversion }, { event }];
    transactions.push(...(order.content.type === 'instant' ? [{ order }, ...lines] : lines));
  }
  const accounts = Array.from(states, ([id, { balance, version, head }]): ExportLine => {
    const kind = id === SETTLEMENT ? 'settlement' : 'customer';
    return { account: { id, kind, currencyCode: 'EUR', balance: balance.toString(), version, head } };
  });
  const rows: ExportLine[] = [...(withDetails ? [{ recipient }, ...standing] : []), ...transactions];
  const count = (kind: string) => rows.filter((row) => kind in row).length;
  const counts = { accounts: accounts.length, transactions: moves.length };
  const others = { executions: count('execution'), conversions: count('conversion'), events: count('event') };
  return [
    { header: { workspace: { id: WORKSPACE, name: 'Northwind Trading' }, exportedAt: NOON, ...counts } },
    ...accounts,
    ...rows,
    {
      end: {
        ...counts,
        transfers: 2 * moves.length,
        recipients: count('recipient'),
        orders: count('order'),
        ...others,
      },
    },
  ];
}

async function exportedRecipient(): Promise<ExportedRecipient> {
  const content = { ...RECIPIENT, personDigest: await digestOf(canonicalPerson(PERSON)) };
  return { content, person: PERSON, digest: await digestOf(canonicalRecipient(content)) };
}

async function exportedOrder(stated: HashedOrder, texts?: OrderTexts): Promise<{ order: ExportedOrder }> {
  const content = texts ? { ...stated, textsDigest: await digestOf(canonicalOrderTexts(texts)) } : stated;
  const digest = await digestOf(canonicalOrder(content));
  return { order: { content, texts, digest, status: 'active', createdAt: NOON } };
}

function failedRun(orderId: number): ExportLine {
  return { execution: { id: 899, orderId, sequence: 1, status: 'failed', scheduledAt: NOON, failureCode: 'x' } };
}

/** What belongs to a transaction. Every other order ran later. */
async function detailsOf(index: number, accountId: number, amount: bigint) {
  const type = index % 2 === 1 ? 'instant' : 'scheduled';
  const startAt = type === 'instant' ? undefined : '2026-11-21T12:00:00Z';
  const content = { id: 500 + index, accountId, recipientId: RECIPIENT.id, amount: amount.toString(), type, startAt };
  const converted: HashedConversion = {
    ...{
      quoteId: 77,
      sourceCurrencyCode: 'EUR',
      sourceAmount: content.amount,
      targetCurrencyCode: 'JPY',
      targetAmount: '160',
    },
    ...{ rate: '160', rateSource: 'spec', rateAsOf: NOON, rounding: 'down', fixedSide: 'source' },
    ...{ remainderNumerator: '0', remainderDenominator: '100' },
  };
  const transactionId = 40 + index;
  return {
    ...(await exportedOrder(content)),
    execution: {
      ...{ id: 900 + index, orderId: content.id, sequence: 1, status: 'pending', scheduledAt: NOON },
      ...{ transactionId, executedAt: NOON },
    },
    conversion: { content: converted, digest: await digestOf(canonicalConversion(converted)), transactionId },
    event: { id: 700 + index, transactionId, providerEvent: 'e-1', status: 'ACSP', createdAt: NOON },
  };
}

/** The export as text. */
export async function exportedText(made: readonly Move[], options?: Parameters<typeof exported>[1]): Promise<string[]> {
  return (await exported(made, options)).map(exportLine);
}

/** The fault of lines that are no proof, or undefined if they are one. */
export async function faultOf(lines: readonly string[]): Promise<ExportFault | undefined> {
  return proveExport(lines).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof ExportFault) return error;
      throw error;
    },
  );
}
