import { offlineDocument } from './offline-document.js';

/** The operations that the published interface names, with the parameters it shows. */
const STATED_OPERATIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'GET /recipients/countries/{country}/corridors': { country: 'string!' },
  'GET /countries/{country}/corridors': { country: 'string!' },
  'GET /transfers/{transferId}': { transferId: 'integer!', 'Workspace-ID': 'integer!' },
  'GET /apps/{appId}/users': { appId: 'integer!' },
  'GET /products': {},
  'GET /apps': {},
  'GET /recipients/validation-schema': {},
  'GET /validation-schema': {},
  'GET /transfers': {},
  'GET /orders': {},
  'GET /accounts/{accountId}/orders/{orderId}': {},
  'POST /accounts/{accountId}/orders': {},
};

const TIMES = { createdAt: 'string', updatedAt: 'string' };

/** The resources of the published interface: type, `!` if required, `?` if not stated. */
const STATED_FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Currency: {
    id: 'integer!',
    code: 'string!',
    name: 'string!',
    symbol: 'string',
    decimals: 'integer',
    swiftMinimumWithdrawalAmount: 'string',
    ...TIMES,
  },
  Product: { id: 'integer!', name: 'string!', description: 'string', 'edges.currency': 'Currency!', ...TIMES },
  App: { id: 'integer!', name: 'string!', createdAt: 'string' },
  User: {
    id: 'integer!',
    email: 'string!',
    status: 'string',
    userType: 'string',
    createdAt: 'string',
    'edges.roles': 'Role[]',
  },
  Role: { id: 'integer!', role: 'string!', 'edges.workspace': 'Workspace!', ...TIMES },
  Workspace: { id: 'integer!', name: 'string!', type: 'string', ...TIMES },
  Corridor: {
    id: 'integer?',
    destinationCountry: 'string?',
    destinationCurrencyID: 'integer?',
    limitCurrencyID: 'integer?',
    payoutMethod: 'string?',
    beneficiaryAccountType: 'string?',
    routingCodeType: 'string?',
    deliveryTAT: 'string?',
    minimumAmount: 'string?',
    maximumAmount: 'string?',
    enabled: 'boolean?',
    createdAt: 'string?',
    updatedAt: 'string?',
    'edges.destinationCurrency': 'Currency?',
    'edges.limitCurrency': 'Currency?',
  },
  Transfer: {
    id: 'integer!',
    amount: 'string!',
    description: 'string',
    direction: 'string',
    type: 'string',
    purpose: 'string',
    feeAmount: 'string',
    ...TIMES,
    'edges.account': 'Account',
    'edges.balance': 'Balance',
    'edges.recipient': 'Recipient',
    'edges.transaction': 'Transaction',
  },
  Account: {
    id: 'integer!',
    name: 'string!',
    status: 'string!',
    type: 'string!',
    alias: 'string',
    code: 'string',
    ...TIMES,
    'edges.balances': 'Balance[]!',
    'edges.currency': 'Currency!',
    'edges.product': 'Product!',
  },
  Balance: { id: 'integer!', amount: 'integer!', ...TIMES },
  Recipient: {
    id: 'integer!',
    name: 'string!',
    accountCode: 'string!',
    alias: 'string',
    saved: 'boolean',
    ...TIMES,
    'edges.bank': 'Bank',
    'edges.beneficiary': 'Beneficiary',
    'edges.currency': 'Currency',
  },
  Bank: { id: 'integer!', name: 'string!', countryCode: 'string', swiftCode: 'string', ...TIMES },
  Beneficiary: { id: 'integer!', data: 'object', ...TIMES },
  // The layout of the items of edges.transfers is not shown.
  Transaction: {
    id: 'integer!',
    status: 'string!',
    hash: 'string',
    ...TIMES,
    'edges.internationalRemittance': 'InternationalRemittance',
    'edges.transfers': 'ExecutedTransfer[]',
  },
  InternationalRemittance: { id: 'integer!', ...TIMES, 'edges.events': 'RemittanceEvent[]' },
  RemittanceEvent: {
    id: 'integer!',
    status: 'string!',
    message: 'string',
    createdAt: 'string',
    lastUpdatedAt: 'string',
  },
  Error: { errorCode: 'string!', message: 'string!' },
  // The table of versions names the property; nothing else of an order is shown.
  Order: { 'edges.executions': 'Execution[]?' },
};

/** Stated fields whose values the published interface leaves open, and callers of its family expect. */
const KNOWN_VALUES = [
  'Corridor.payoutMethod',
  'Corridor.beneficiaryAccountType',
  'Corridor.routingCodeType',
  'Beneficiary.data',
  'RemittanceEvent.status',
  // Formats, units, limits and content that are not shown.
  'Corridor.minimumAmount',
  'Corridor.maximumAmount',
  'Currency.decimals',
  'Currency.swiftMinimumWithdrawalAmount',
  'Transaction.hash',
];
const KNOWN_FORMATS = /\.(createdAt|updatedAt|lastUpdatedAt)$/;
const hasKnownValues = (field: string) => KNOWN_VALUES.includes(field) || KNOWN_FORMATS.test(field);

/** Names whose values callers expect, also where they are not stated fields. The elements of an address are ours. */
const KNOWN_NAMES =
  /^(payoutMethod|beneficiary(?!StreetName$|BuildingNumber$|PostCode$|TownName$)\w+|destinationCountry|routingCode\w+|data|purposeCode)$/;

interface Schema {
  readonly type?: string;
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly 'x-provenance'?: string;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
  readonly 'x-provenance'?: string;
}

interface Operation {
  readonly parameters: readonly Parameter[];
  readonly 'x-provenance'?: string;
}

describe('the provenance marks of the document', () => {
  let schemas: Readonly<Record<string, Schema>>;
  let operations: (readonly [string, Operation])[];
  beforeAll(async () => {
    const { paths, components } = await offlineDocument();
    schemas = components?.schemas as typeof schemas;
    operations = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item as Record<string, Operation>).map(
        ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const,
      ),
    );
  });

  const nameOf = ({ $ref, allOf }: Schema) => ($ref ?? allOf?.[0]?.$ref)?.split('/').at(-1);
  const typeOf = (schema: Schema): string | undefined =>
    schema.items ? `${typeOf(schema.items)}[]` : (nameOf(schema) ?? schema.type);

  /** The fields of a schema in the notation of the table, with those of its edges. */
  function fieldsOf(schema: Schema, above = ''): (readonly [path: string, type: string, mark: string | undefined])[] {
    return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
      const own = [
        `${above}${name}`,
        `${typeOf(field)}${schema.required?.includes(name) ? '!' : ''}`,
        field['x-provenance'],
      ] as const;
      const edges = name === 'edges' ? schemas[nameOf(field) ?? ''] : undefined;
      return [own, ...fieldsOf(edges ?? field, `${above}${name}.`)];
    });
  }

  it('mark exactly the operations of the published interface as stated', () => {
    const stated = operations.filter(([, operation]) => operation['x-provenance'] === 'stated').map(([name]) => name);

    expect(stated.sort()).toEqual(Object.keys(STATED_OPERATIONS).sort());
    for (const [name, operation] of operations)
      expect([name, operation['x-provenance']]).toEqual([name, expect.stringMatching(/^(stated|known|ours)$/)]);
  });

  it('leave out exactly the parameters that the published interface shows', () => {
    for (const [name, { parameters }] of operations) {
      const shown = STATED_OPERATIONS[name] ?? {};
      const unmarked = parameters.filter((parameter) => parameter['x-provenance'] === undefined);

      expect([
        name,
        Object.fromEntries(unmarked.map((one) => [one.name, `${one.schema.type}${one.required ? '!' : ''}`])),
      ]).toEqual([name, shown]);
    }
  });

  it('leave out the fields that the published interface shows, except for open values', () => {
    for (const [schema, shown] of Object.entries(STATED_FIELDS)) {
      const fields = new Map(fieldsOf(schemas[schema] ?? {}).map(([path, type, mark]) => [path, { type, mark }]));
      for (const [path, type] of Object.entries(shown)) {
        const field = `${schema}.${path}`;
        const expected = type.endsWith('?')
          ? expect.stringMatching(new RegExp(`^${type.slice(0, -1).replace('[]', '\\[\\]')}!?$`))
          : type;

        expect([field, fields.get(path)]).toEqual([
          field,
          { type: expected, mark: hasKnownValues(field) ? 'known' : undefined },
        ]);
      }
    }
  });

  it('cover every field that the published interface does not show', () => {
    for (const [schema, content] of Object.entries(schemas)) {
      if (isEdgesOfAnother(schema)) continue;
      const shown = Object.keys(STATED_FIELDS[schema] ?? {});
      const isShown = (path: string) =>
        shown.includes(path) || (path === 'edges' && shown.some((one) => one.startsWith('edges.')));
      const unmarked = fieldsOf(content).filter(
        ([path, , mark]) => !isShown(path) && mark !== 'known' && mark !== 'ours',
      );

      expect([schema, unmarked]).toEqual([schema, []]);
    }
  });

  it('are known wherever callers expect the values', () => {
    const marks = [
      ...operations.flatMap(([name, { parameters }]) =>
        parameters.map((one) => [`${name} ${one.name}`, one.name, one['x-provenance']]),
      ),
      ...Object.entries(schemas).flatMap(([schema, content]) =>
        fieldsOf(content).map(([path, , mark]) => [`${schema}.${path}`, path.split('.').at(-1), mark]),
      ),
    ];
    const others = ['Corridor.destinationCountry', 'WebhookEvent.data', 'WebhookTest.data'];
    const known = marks.filter(([where, name]) => KNOWN_NAMES.test(name ?? '') && !others.includes(where ?? ''));

    expect(known.length).toBeGreaterThan(10);
    for (const [where, , mark] of known) expect([where, mark]).toEqual([where, 'known']);
  });

  /** Whether a schema is compared as the `edges` of its parent. */
  const isEdgesOfAnother = (name: string) =>
    Object.values(schemas).some(({ properties }) => properties?.['edges'] && nameOf(properties['edges']) === name);
});
