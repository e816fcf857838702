/** Name and type of each field, with `!` if it is required. The type of a related record is its name, with `[]` for a list. */
const TABLES = {
  Currency: `id integer!, code string!, name string!, symbol string, decimals integer,
    swiftMinimumWithdrawalAmount string, createdAt string, updatedAt string`,
  Product: `id integer!, name string!, description string, createdAt string, updatedAt string,
    edges.currency Currency!`,
  App: 'id integer!, name string!, createdAt string',
  User: 'id integer!, email string!, status string, userType string, createdAt string, edges.roles Role[]',
  Role: 'id integer!, role string!, createdAt string, updatedAt string, edges.workspace Workspace!',
  Workspace: 'id integer!, name string!, type string, createdAt string, updatedAt string',
  Corridor: `id integer, destinationCountry string, destinationCurrencyID integer, limitCurrencyID integer,
    payoutMethod string, beneficiaryAccountType string, routingCodeType string, deliveryTAT string,
    minimumAmount string, maximumAmount string, enabled boolean, createdAt string, updatedAt string,
    edges.destinationCurrency Currency, edges.limitCurrency Currency`,
  Transfer: `id integer!, amount string!, description string, direction string, type string, purpose string,
    feeAmount string, createdAt string, updatedAt string, edges.account Account, edges.balance Balance,
    edges.recipient Recipient, edges.transaction Transaction`,
  Account: `id integer!, name string!, status string!, type string!, alias string, code string, createdAt string,
    updatedAt string, edges.balances Balance[]!, edges.currency Currency!, edges.product Product!`,
  Balance: 'id integer!, amount integer!, createdAt string, updatedAt string',
  Recipient: `id integer!, name string!, accountCode string!, alias string, saved boolean, createdAt string,
    updatedAt string, edges.bank Bank, edges.beneficiary Beneficiary, edges.currency Currency`,
  Bank: 'id integer!, name string!, countryCode string, swiftCode string, createdAt string, updatedAt string',
  Beneficiary: 'id integer!, data object, createdAt string, updatedAt string',
  Transaction: `id integer!, status string!, hash string, createdAt string, updatedAt string,
    edges.internationalRemittance InternationalRemittance, edges.transfers object[]`,
  InternationalRemittance: 'id integer!, createdAt string, updatedAt string, edges.events RemittanceEvent[]',
  RemittanceEvent: 'id integer!, status string!, message string, createdAt string, lastUpdatedAt string',
} as const;

export type RecordName = keyof typeof TABLES;
export type Fields = Readonly<Record<string, unknown>>;

/** A row of a table of the published interface. */
export interface PublishedField {
  readonly record: RecordName;
  /** Without `edges.`. */
  readonly name: string;
  readonly isEdge: boolean;
  readonly type: string;
  readonly isRequired: boolean;
}

/** All rows of all tables. */
export const PUBLISHED_FIELDS: readonly PublishedField[] = Object.entries(TABLES).flatMap(([record, table]) =>
  table.split(/,\s+/).map((row) => {
    const [path = '', type = ''] = row.split(' ');
    const isEdge = path.startsWith('edges.');
    return {
      record: record as RecordName,
      name: path.replace('edges.', ''),
      isEdge,
      type: type.replace('!', ''),
      isRequired: type.endsWith('!'),
    };
  }),
);

/** The smallest value of the type of a field. */
export function leastValue({ name, type }: Pick<PublishedField, 'name' | 'type'>): unknown {
  if (type.endsWith('[]')) return [leastValue({ name, type: type.slice(0, -2) })];
  if (type in TABLES) return leastRecord(type as RecordName);
  const values: Readonly<Record<string, unknown>> = {
    integer: 1,
    string: name === 'amount' ? '1' : 'x',
    boolean: true,
    object: {},
  };
  return values[type];
}

/** A record with the required fields only. */
export function leastRecord(record: RecordName): Fields {
  const required = PUBLISHED_FIELDS.filter((field) => field.record === record && field.isRequired);
  return required.reduce<Fields>((sofar, field) => withField(sofar, field, { value: leastValue(field) }), {});
}

/** A copy in which a field has another value, or is missing. `edges` is omitted if it is empty. */
export function withField(record: Fields, { name, isEdge }: PublishedField, to: { readonly value?: unknown }): Fields {
  const { [name]: _, ...others } = (isEdge ? (record['edges'] ?? {}) : record) as Fields;
  const changed = { ...others, ...('value' in to && { [name]: to.value }) };
  if (!isEdge) return changed;
  const { edges: __, ...plain } = record;
  return Object.keys(changed).length > 0 ? { ...plain, edges: changed } : plain;
}

/** A response that contains the record, and its operation. */
export function responseWith(
  record: RecordName,
  value: Fields,
): { readonly operation: string; readonly value: unknown } {
  const least = leastRecord;
  const inEdges = (holder: RecordName, edge: string, inner: unknown) => {
    const whole = least(holder);
    return { ...whole, edges: { ...(whole['edges'] as Fields | undefined), [edge]: inner } };
  };
  const inTransfer = (transaction: unknown) => ({
    operation: 'getTransfer',
    value: inEdges('Transfer', 'transaction', transaction),
  });
  switch (record) {
    case 'Currency':
      return { operation: 'listProducts', value: [inEdges('Product', 'currency', value)] };
    case 'Product':
      return { operation: 'listProducts', value: [value] };
    case 'App':
      return { operation: 'listApps', value: [value] };
    case 'User':
      return { operation: 'listAppUsers', value: [value] };
    case 'Role':
      return { operation: 'listAppUsers', value: [inEdges('User', 'roles', [value])] };
    case 'Workspace':
      return { operation: 'listAppUsers', value: [inEdges('User', 'roles', [inEdges('Role', 'workspace', value)])] };
    case 'Corridor':
      return { operation: 'listCorridors', value: [value] };
    case 'Transfer':
      return { operation: 'getTransfer', value };
    case 'Account':
      return { operation: 'getTransfer', value: inEdges('Transfer', 'account', value) };
    case 'Balance':
      return { operation: 'getTransfer', value: inEdges('Transfer', 'balance', value) };
    case 'Recipient':
      return { operation: 'getTransfer', value: inEdges('Transfer', 'recipient', value) };
    case 'Bank':
      return { operation: 'getRecipient', value: inEdges('Recipient', 'bank', value) };
    case 'Beneficiary':
      return { operation: 'getRecipient', value: inEdges('Recipient', 'beneficiary', value) };
    case 'Transaction':
      return inTransfer(value);
    case 'InternationalRemittance':
      return inTransfer(inEdges('Transaction', 'internationalRemittance', value));
    case 'RemittanceEvent':
      return inTransfer(
        inEdges('Transaction', 'internationalRemittance', inEdges('InternationalRemittance', 'events', [value])),
      );
  }
}
