import {
  EXPORT_FORMAT,
  EXPORT_VERSION,
  exportLine,
  type ExportedAccount,
  type ExportedTransaction,
  type ExportEnd,
  type ExportHeader,
  type ExportLine,
} from './export-lines.js';
import {
  ANY,
  CURRENCY,
  HASH,
  HEAD,
  ID_MIN,
  instant,
  KIND,
  LineFault,
  list,
  type Members,
  members,
  NAME,
  NOT_NEGATIVE,
  POSITIVE,
  SIGNED,
  text,
  whole,
  WORD,
} from './line-fields.js';
import { readConversion, readEvent, readExecution, readOrder, readRecipient } from './read-detail-line.js';
import { type ChainLink, HASH_VERSION, type TransferContent } from './transaction-hash.js';

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
