const WORDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  id: (value) => Number.isSafeInteger(value) && Number(value) > 0,
  integer: (value) => Number.isSafeInteger(value),
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  time: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,9}Z$/.test(value),
  day: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value),
  amount: (value) => typeof value === 'string' && /^(0|[1-9][0-9]{0,18})$/.test(value),
  rate: (value) => typeof value === 'string' && /^(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$/.test(value),
  hash: (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value),
};

/** The faults of a value of a kind: fields that are missing, of another type, null, or not in the tables. */
export function faultsIn(value: unknown, kind: string, path = kind): string[] {
  if (kind.endsWith('?')) return value === undefined ? [] : faultsIn(value, kind.slice(0, -1), path);
  if (value === undefined) return [`${path} is missing`];
  if (value === null) return [`${path} is null`];
  if (kind.endsWith('[]')) {
    if (!Array.isArray(value)) return [`${path} is not an array`];
    return value.flatMap((item, index) => faultsIn(item, kind.slice(0, -2), `${path}[${index}]`));
  }
  const word = WORDS[kind];
  if (word)
    return [...(word(value) ? [] : [`${path} is no ${kind}: ${JSON.stringify(value)}`]), ...nullsIn(value, path)];
  return faultsInFields(value, kind, path);
}

function faultsInFields(value: unknown, kind: string, path: string): string[] {
  const table = TABLES[kind];
  if (!table) throw new Error(`there is no table for ${kind}`);
  if (typeof value !== 'object' || value === null) return [`${path} is no object`];
  const { edges, ...fields } = value as Record<string, unknown>;
  const found = new Map([
    ...Object.entries(fields),
    ...Object.entries(edges ?? {}).map(([key, v]) => [`edges.${key}`, v] as const),
  ]);
  const unknown = [...found.keys()]
    .filter((key) => !Object.hasOwn(table, key))
    .map((key) => `${path}.${key} is not in the table`);
  return [...unknown, ...Object.entries(table).flatMap(([key, of]) => faultsIn(found.get(key), of, `${path}.${key}`))];
}

function nullsIn(value: unknown, path: string): string[] {
  if (value === null) return [`${path} is null`];
  if (typeof value !== 'object') return [];
  return Object.entries(value as object).flatMap(([key, inner]) => nullsIn(inner, `${path}.${key}`));
}

/** Ours. */
const LINKS = { orderID: 'id?', returnOf: 'id?', returnedBy: 'id?' };

/**
 * The tables of the published interface, field by field, with `?` where it does not require a field. What is marked
 * `ours` is additive. A kind is a check of `faultsIn`, the name of another table, or a list of it.
 */
const SHAPES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Currency: {
    id: 'id',
    code: 'string',
    name: 'string',
    symbol: 'string?',
    decimals: 'integer?',
    swiftMinimumWithdrawalAmount: 'amount?',
    createdAt: 'time?',
    updatedAt: 'time?',
  },
  Product: {
    id: 'id',
    name: 'string',
    description: 'string?',
    createdAt: 'time?',
    updatedAt: 'time?',
    'edges.currency': 'Currency',
  },
  App: { id: 'id', name: 'string', createdAt: 'time?' },
  User: {
    id: 'id',
    email: 'string',
    status: 'string?',
    userType: 'string?',
    createdAt: 'time?',
    'edges.roles': 'Role[]?',
  },
  Role: { id: 'id', role: 'string', createdAt: 'time?', updatedAt: 'time?', 'edges.workspace': 'Workspace' },
  Workspace: { id: 'id', name: 'string', type: 'string?', createdAt: 'time?', updatedAt: 'time?' },
  Corridor: {
    id: 'id',
    destinationCountry: 'string?',
    destinationCurrencyID: 'id?',
    limitCurrencyID: 'id?',
    payoutMethod: 'string?',
    beneficiaryAccountType: 'string?',
    routingCodeType: 'string?',
    deliveryTAT: 'string?',
    minimumAmount: 'amount?',
    maximumAmount: 'amount?',
    fee: 'object?',
    enabled: 'boolean?',
    createdAt: 'time?',
    updatedAt: 'time?',
    'edges.destinationCurrency': 'Currency?',
    'edges.limitCurrency': 'Currency?',
  },
  // Ours, all of them.
  RecipientSchema: {
    $schema: 'string',
    $id: 'string',
    title: 'string',
    $comment: 'string?',
    type: 'string',
    properties: 'object',
    required: 'string[]',
    dependentRequired: 'object?',
    additionalProperties: 'boolean',
    examples: 'object[]?',
  },
  Quote: {
    id: 'id',
    amount: 'amount',
    rate: 'rate',
    feeAmount: 'amount?',
    targetAmount: 'amount',
    expiresAt: 'time',
    createdAt: 'time?',
    updatedAt: 'time?',
    'edges.account': 'Account',
    'edges.recipient': 'Recipient?',
    'edges.targetCurrency': 'Currency',
  },
  /** Ours. */
  Event: {
    id: 'id',
    type: 'string',
    createdAt: 'time',
    sequence: 'integer',
    resource: 'object',
    changes: 'object',
    actor: 'object',
  },
  // Ours
  LimitList: { version: 'integer', timeZone: 'string', limits: 'Limit[]' },
  Limit: {
    ...{ scope: 'string', accountID: 'id?', role: 'string?', userID: 'id?', metric: 'string', per: 'string' },
    ...{ value: 'amount', currency: 'string?', used: 'amount?', resetsAt: 'time?' },
  },
  // Ours
  WebhookEndpoint: {
    id: 'id',
    url: 'string',
    types: 'string[]',
    description: 'string?',
    status: 'string',
    disabledReason: 'string?',
    failingSince: 'time?',
    createdAt: 'time',
  },
  ServiceAccount: {
    ...{ id: 'id', name: 'string', roles: 'string[]', scopes: 'string[]?', createdBy: 'id?' },
    ...{ createdAt: 'time', updatedAt: 'time' },
  },
  ServiceAccountKey: {
    ...{ id: 'id', serviceAccountID: 'id', networks: 'string[]', createdBy: 'id?' },
    ...{ expiresAt: 'time?', lastUsedAt: 'time?', createdAt: 'time' },
  },
  Member: {
    ...{ id: 'id', email: 'string', roles: 'string[]', status: 'string', userID: 'id?', expiresAt: 'time?' },
    ...{ createdAt: 'time', updatedAt: 'time' },
  },
  WebhookDelivery: {
    ...{ id: 'id', eventID: 'id?', eventType: 'string', kind: 'string', status: 'string', attempts: 'integer' },
    ...{ nextAttemptAt: 'time?', lastAttempt: 'object?', createdAt: 'time' },
  },
  Order: {
    id: 'id',
    amount: 'amount',
    status: 'string',
    type: 'string',
    description: 'string?',
    purposeCode: 'string?',
    repeatUnit: 'string?',
    repeatValue: 'integer?',
    startAt: 'time?',
    stopAt: 'time?',
    pausedAt: 'time?', // ours
    pauseReason: 'string?', // ours
    quoteID: 'id?', // ours
    externalReference: 'string?', // ours
    metadata: 'object?', // ours
    placedBy: 'id?', // ours
    cancelledBy: 'id?', // ours
    createdAt: 'time?',
    updatedAt: 'time?',
    'edges.account': 'Account?',
    'edges.recipient': 'Recipient?',
    'edges.executions': 'Execution[]?',
  },
  Execution: {
    id: 'id',
    sequence: 'integer',
    status: 'string',
    scheduledAt: 'time?',
    executedAt: 'time?',
    failureCode: 'string?',
    failureMessage: 'string?',
    'edges.transaction': 'Transaction?',
  },
  ExecutedTransfer: {
    id: 'id',
    amount: 'amount',
    description: 'string?',
    direction: 'string?',
    type: 'string?',
    purpose: 'string?',
    feeAmount: 'amount?',
    createdAt: 'time?',
    updatedAt: 'time?',
    'edges.account': 'Account?',
    'edges.balance': 'Balance?',
    'edges.recipient': 'Recipient?',
  },
  Account: {
    id: 'id',
    name: 'string',
    status: 'string',
    type: 'string',
    alias: 'string?',
    code: 'string?',
    createdAt: 'time?',
    updatedAt: 'time?',
    'edges.balances': 'Balance[]',
    'edges.currency': 'Currency',
    'edges.product': 'Product',
  },
  Balance: { id: 'id', amount: 'integer', createdAt: 'time?', updatedAt: 'time?' },
  // Ours, all of them.
  SandboxClock: { now: 'time' },
  Statement: {
    from: 'string',
    to: 'string',
    basis: 'string',
    openingBalance: 'integer',
    closingBalance: 'integer',
    movements: 'Movement[]',
    'edges.account': 'StatementAccount',
  },
  StatementAccount: { id: 'id', name: 'string', alias: 'string?', code: 'string?', 'edges.currency': 'Currency' },
  Movement: {
    id: 'id',
    transactionID: 'id',
    ...LINKS,
    direction: 'string',
    amount: 'amount',
    type: 'string',
    description: 'string?',
    purpose: 'string?',
    feeAmount: 'amount?',
    recipientName: 'string?',
    valueDate: 'day',
    createdAt: 'time',
    balanceAfter: 'integer',
  },
  Recipient: {
    id: 'id',
    name: 'string',
    accountCode: 'string',
    alias: 'string?',
    saved: 'boolean?',
    createdAt: 'time?',
    updatedAt: 'time?',
    verification: 'RecipientVerification?',
    'edges.bank': 'Bank?',
    'edges.beneficiary': 'Beneficiary?',
    'edges.currency': 'Currency?',
  },
  RecipientVerification: {
    result: 'string',
    name: 'string?',
    verifiedAt: 'time',
  },
  Bank: {
    id: 'id',
    name: 'string',
    countryCode: 'string?',
    swiftCode: 'string?',
    createdAt: 'time?',
    updatedAt: 'time?',
  },
  Beneficiary: { id: 'id', data: 'object?', createdAt: 'time?', updatedAt: 'time?' },
  Transaction: {
    id: 'id',
    status: 'string',
    hash: 'hash?',
    ...LINKS,
    createdAt: 'time?',
    updatedAt: 'time?',
    'edges.internationalRemittance': 'InternationalRemittance?',
    'edges.transfers': 'ExecutedTransfer[]?',
  },
  InternationalRemittance: { id: 'id', createdAt: 'time?', updatedAt: 'time?', 'edges.events': 'RemittanceEvent[]?' },
  RemittanceEvent: {
    id: 'id',
    status: 'string',
    message: 'string?',
    reasonCode: 'string?', // ours
    createdAt: 'time?',
    lastUpdatedAt: 'time?',
  },
  ErrorBody: { errorCode: 'string', message: 'string', reason: 'string', requestId: 'string', details: 'object[]?' },
  Health: { status: 'string' },
};

const TABLES = {
  ...SHAPES,
  RemovedMember: {
    ...SHAPES['Member'],
    ...{ pausedOrderIDs: 'id[]', disabledWebhookEndpointIDs: 'id[]', revokedKeyIDs: 'id[]' },
  },
  Transfer: { ...SHAPES['ExecutedTransfer'], 'edges.transaction': 'Transaction?' },
} as Readonly<Record<string, Readonly<Record<string, string>>>>;
