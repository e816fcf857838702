import type {
  ExportedConversion,
  ExportedEvent,
  ExportedExecution,
  ExportedOrder,
  ExportedRecipient,
} from './export-lines.js';
import {
  ANY,
  CURRENCY,
  HASH,
  ID_MIN,
  instant,
  KIND,
  malformed,
  type Members,
  members,
  POSITIVE,
  SIGNED,
  text,
  whole,
  WORD,
} from './line-fields.js';

const EXECUTION_STATUS = /^(?:scheduled|pending|completed|failed|cancelled)$/;
const ORDER_STATUS = /^(?:active|completed|cancelled|failed)$/;

export function readRecipient(recipient: Members): ExportedRecipient {
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

export function readOrder(order: Members): ExportedOrder {
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

export function readExecution(execution: Members): ExportedExecution {
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

export function readConversion(conversion: Members): ExportedConversion {
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

export function readEvent(event: Members): ExportedEvent {
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
