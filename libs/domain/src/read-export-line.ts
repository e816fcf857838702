import { isTimestamp, type Timestamp } from './timestamp.js';
import {
  type ExportedConversion,
  type ExportedEvent,
  type ExportedExecution,
  type ExportedOrder,
  type ExportedRecipient,
  EXPORT_FORMAT,
  EXPORT_VERSION,
  exportLine,
  type ExportedAccount,
  type ExportedTransaction,
  type ExportEnd,
  type ExportHeader,
  type ExportLine,
} from './export-lines.js';
import { type ChainLink, HASH_VERSION, type TransferContent } from './transaction-hash.js';

/** The fault of a line, as the end of a sentence that begins with the line number. */
export class LineFault extends Error {}

type Members = Readonly<Record<string, unknown>>;

const ID_MIN = 1;
const HASH = /^[0-9a-f]{64}$/;
const HEAD = /^(?:[0-9a-f]{64})?$/;
const CURRENCY = /^[A-Z]{3}$/;
const WORD = /./;
const ANY = /^/;
/** Without control characters, because `banking prove` prints it to a terminal. */
const NAME = /^\P{Cc}*$/u;
const KIND = /^[a-z]+$/;
const POSITIVE = /^[1-9][0-9]{0,18}$/;
const NOT_NEGATIVE = /^(?:0|[1-9][0-9]{0,18})$/;
const SIGNED = /^(?:0|-?[1-9][0-9]{0,37})$/;

function members(value: unknown, name: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed(name);
  return value as Members;
}

function list(owner: Members, name: string): readonly Members[] {
  const value = owner[name];
  if (!Array.isArray(value)) throw malformed(name);
  return value.map((entry) => members(entry, name));
}

function whole(owner: Members, name: string, min = 0): number {
  const value = owner[name];
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min) throw malformed(name);
  return value;
}

function text(owner: Members, name: string, shape: RegExp): string {
  const value = owner[name];
  // A lone surrogate has no UTF-8 form, so no hashed text contains one.
  if (typeof value !== 'string' || !shape.test(value) || /\p{Surrogate}/u.test(value)) throw malformed(name);
  return value;
}

function instant(owner: Members, name: string): Timestamp {
  const value = text(owner, name, WORD);
  if (!isTimestamp(value)) throw malformed(name);
  return value;
}

function malformed(name: string): LineFault {
  return new LineFault(`is not a line of an export: ${name} is missing or has the wrong type`);
}

const EXECUTION_STATUS = /^(?:scheduled|pending|completed|failed|cancelled)$/;
const ORDER_STATUS = /^(?:active|completed|cancelled|failed)$/;

function readRecipient(recipient: Members): ExportedRecipient {
  const content = members(recipient['content'], 'content');
  return {
    content: {
      id: whole(content, 'id', ID_MIN),
      name: text(content, 'name', ANY),
      accountCode: text(content, 'accountCode', ANY),
      currencyCode: text(content, 'currencyCode', CURRENCY),
      corridorId: optional(content, 'corridorId', optionalId),
      routingCodeType: optional(content, 'routingCodeType', anyText),
      routingCode: optional(content, 'routingCode', anyText),
    },
    digest: text(recipient, 'digest', HASH),
  };
}

function readOrder(order: Members): ExportedOrder {
  const content = members(order['content'], 'content');
  return {
    content: {
      id: whole(content, 'id', ID_MIN),
      accountId: whole(content, 'accountId', ID_MIN),
      recipientId: whole(content, 'recipientId', ID_MIN),
      amount: text(content, 'amount', POSITIVE),
      type: text(content, 'type', KIND),
      description: optional(content, 'description', anyText),
      purposeCode: optional(content, 'purposeCode', anyText),
      repeatUnit: optional(content, 'repeatUnit', anyText),
      repeatValue: optional(content, 'repeatValue', optionalId),
      startAt: optional(content, 'startAt', anyText),
      stopAt: optional(content, 'stopAt', anyText),
      quoteId: optional(content, 'quoteId', optionalId),
      externalReference: optional(content, 'externalReference', anyText),
      metadata: optional(content, 'metadata', texts),
    },
    digest: text(order, 'digest', HASH),
    status: text(order, 'status', ORDER_STATUS),
    createdAt: instant(order, 'createdAt'),
  };
}

function readExecution(execution: Members): ExportedExecution {
  const status = text(execution, 'status', EXECUTION_STATUS);
  const run = {
    id: whole(execution, 'id', ID_MIN),
    orderId: whole(execution, 'orderId', ID_MIN),
    sequence: whole(execution, 'sequence', ID_MIN),
    status,
    scheduledAt: instant(execution, 'scheduledAt'),
    ...(status === 'failed' && { failureCode: text(execution, 'failureCode', ANY) }),
  };
  if (execution['transactionId'] === undefined) return run;
  return {
    ...run,
    transactionId: whole(execution, 'transactionId', ID_MIN),
    executedAt: instant(execution, 'executedAt'),
  };
}

function readConversion(conversion: Members): ExportedConversion {
  const content = members(conversion['content'], 'content');
  return {
    content: {
      quoteId: optional(content, 'quoteId', optionalId),
      sourceCurrencyCode: text(content, 'sourceCurrencyCode', CURRENCY),
      sourceAmount: text(content, 'sourceAmount', POSITIVE),
      targetCurrencyCode: text(content, 'targetCurrencyCode', CURRENCY),
      targetAmount: text(content, 'targetAmount', POSITIVE),
      rate: text(content, 'rate', WORD),
      rateSource: text(content, 'rateSource', ANY),
      rateAsOf: instant(content, 'rateAsOf'),
      rounding: text(content, 'rounding', WORD),
      remainderNumerator: text(content, 'remainderNumerator', SIGNED),
      remainderDenominator: text(content, 'remainderDenominator', SIGNED),
      fixedSide: text(content, 'fixedSide', WORD),
    },
    digest: text(conversion, 'digest', HASH),
    transactionId: whole(conversion, 'transactionId', ID_MIN),
  };
}

function readEvent(event: Members): ExportedEvent {
  return {
    id: whole(event, 'id', ID_MIN),
    transactionId: whole(event, 'transactionId', ID_MIN),
    providerEvent: text(event, 'providerEvent', ANY),
    status: text(event, 'status', ANY),
    reasonCode: optional(event, 'reasonCode', anyText),
    message: optional(event, 'message', anyText),
    createdAt: instant(event, 'createdAt'),
  };
}

function optional<T>(owner: Members, name: string, read: (owner: Members, name: string) => T): T | undefined {
  return owner[name] === undefined ? undefined : read(owner, name);
}

const anyText = (owner: Members, name: string) => text(owner, name, ANY);
const optionalId = (owner: Members, name: string) => whole(owner, name, ID_MIN);

function texts(owner: Members, name: string): Readonly<Record<string, string>> {
  const record = members(owner[name], name);
  if (!Object.values(record).every((value) => typeof value === 'string')) throw malformed(name);
  return record as Readonly<Record<string, string>>;
}

/**
 * Reads a line of an export strictly: it must have every field, each of its type, no other field, and the canonical form. So two
 * readers cannot read the same line differently.
 *
 * @throws LineFault
 */
export function readExportLine(text: string): ExportLine {
  const line = readAny(parsed(text));
  if (exportLine(line) !== text) {
    throw new LineFault('has a field that is not known, or is not RFC 8785 JSON with transfers and links in id order');
  }
  return line;
}

function parsed(text: string): Members {
  try {
    return members(JSON.parse(text), 'the line');
  } catch (error) {
    if (error instanceof SyntaxError) throw new LineFault('is not JSON');
    throw error;
  }
}

function readAny(line: Members): ExportLine {
  if ('header' in line) return { header: readHeader(members(line['header'], 'header')) };
  if ('account' in line) return { account: readAccount(members(line['account'], 'account')) };
  if ('transaction' in line) return { transaction: readTransaction(members(line['transaction'], 'transaction')) };
  if ('recipient' in line) return { recipient: readRecipient(members(line['recipient'], 'recipient')) };
  if ('order' in line) return { order: readOrder(members(line['order'], 'order')) };
  if ('execution' in line) return { execution: readExecution(members(line['execution'], 'execution')) };
  if ('conversion' in line) return { conversion: readConversion(members(line['conversion'], 'conversion')) };
  if ('event' in line) return { event: readEvent(members(line['event'], 'event')) };
  if ('end' in line) return { end: readEnd(members(line['end'], 'end')) };
  throw new LineFault('is none of the lines of an export');
}

function readHeader(header: Members): ExportHeader {
  const { format, formatVersion } = header;
  if (format !== EXPORT_FORMAT || formatVersion !== EXPORT_VERSION) {
    throw new LineFault(`is not the header of ${EXPORT_FORMAT} version ${EXPORT_VERSION}`);
  }
  const workspace = members(header['workspace'], 'workspace');
  return {
    workspace: { id: whole(workspace, 'id', ID_MIN), name: text(workspace, 'name', NAME) },
    exportedAt: instant(header, 'exportedAt'),
    accounts: whole(header, 'accounts'),
    transactions: whole(header, 'transactions'),
  };
}

function readAccount(account: Members): ExportedAccount {
  return {
    id: whole(account, 'id', ID_MIN),
    kind: text(account, 'kind', KIND),
    currencyCode: text(account, 'currencyCode', CURRENCY),
    balance: text(account, 'balance', SIGNED),
    version: whole(account, 'version'),
    head: text(account, 'head', HEAD),
  };
}

function readTransaction(transaction: Members): ExportedTransaction {
  const content = members(transaction['content'], 'content');
  if (content['hashVersion'] !== HASH_VERSION)
    throw new LineFault('has a hash of a version that this program does not know');
  const digest = (name: string) => (content[name] === undefined ? undefined : text(content, name, HASH));
  return {
    content: {
      workspaceId: whole(content, 'workspaceId', ID_MIN),
      transactionId: whole(content, 'transactionId', ID_MIN),
      returnOf: content['returnOf'] === undefined ? undefined : whole(content, 'returnOf', ID_MIN),
      createdAt: instant(content, 'createdAt'),
      orderDigest: digest('orderDigest'),
      conversionDigest: digest('conversionDigest'),
      transfers: list(content, 'transfers').map(readTransfer),
      previous: list(content, 'previous').map(readLink),
    },
    hash: text(transaction, 'hash', HASH),
    status: text(transaction, 'status', WORD),
    updatedAt: instant(transaction, 'updatedAt'),
  };
}

function readTransfer(transfer: Members): TransferContent {
  const optional = <T>(name: string, read: () => T) => (transfer[name] === undefined ? undefined : read());
  const optionalText = (name: string, shape: RegExp) => optional(name, () => text(transfer, name, shape));
  const optionalId = (name: string) => optional(name, () => whole(transfer, name, ID_MIN));
  const direction = text(transfer, 'direction', WORD);
  if (direction !== 'debit' && direction !== 'credit')
    throw new LineFault('has a direction other than debit or credit');
  return {
    id: whole(transfer, 'id', ID_MIN),
    accountId: whole(transfer, 'accountId', ID_MIN),
    currencyCode: text(transfer, 'currencyCode', CURRENCY),
    direction,
    type: text(transfer, 'type', ANY),
    amount: text(transfer, 'amount', POSITIVE),
    description: optionalText('description', ANY),
    purpose: optionalText('purpose', ANY),
    feeAmount: optionalText('feeAmount', NOT_NEGATIVE),
    recipientId: optionalId('recipientId'),
    recipientDigest: optionalText('recipientDigest', HASH),
    accountVersion: optionalId('accountVersion'),
    balanceAfter: optionalText('balanceAfter', SIGNED),
  };
}

function readLink(link: Members): ChainLink {
  return { accountId: whole(link, 'accountId', ID_MIN), hash: text(link, 'hash', HEAD) };
}

function readEnd(end: Members): ExportEnd {
  return {
    accounts: whole(end, 'accounts'),
    transactions: whole(end, 'transactions'),
    transfers: whole(end, 'transfers'),
    recipients: whole(end, 'recipients'),
    orders: whole(end, 'orders'),
    executions: whole(end, 'executions'),
    conversions: whole(end, 'conversions'),
    events: whole(end, 'events'),
  };
}
