import { responseValidator } from './validate-response.js';
import {
  responseWith,
  leastRecord,
  leastValue,
  PUBLISHED_FIELDS,
  type PublishedField,
  type RecordName,
  withField,
} from './testing/published-tables.js';

const inspect = responseValidator();

/** The message for a record that is valid except for one field. */
const messageFor = (field: PublishedField, to: { readonly value?: unknown }) =>
  inspect(responseWith(field.record, withField(leastRecord(field.record), field, to)));

const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  integer: ['1', 1.5, true, [], {}, null],
  string: [1, true, [], {}, null],
  boolean: ['true', 1, [], {}, null],
  object: ['x', 1, true, [], null],
  array: ['x', 1, true, {}, null, [1], ['x'], [null]],
};
const kindOf = ({ type }: PublishedField) => (type.endsWith('[]') ? 'array' : type in WRONG ? type : 'object');

/** Values of the published type that our own deployments never send. */
const UNUSUAL: Readonly<Record<string, readonly unknown[]>> = {
  integer: [0, -1, Number.MAX_SAFE_INTEGER],
  string: ['', 'x'.repeat(10_000), '12.50', '-1', '1,5', '007', 'yesterday', '2026-11-21', '\u0000', 'عربى'],
  boolean: [true, false],
  object: [{ anything: [null, { of: 'theirs' }] }],
  array: [[]],
};
/** Values at the limits that the interface states beside the type. */
const STATED: Readonly<Record<string, readonly unknown[]>> = {
  'Transfer.amount': ['0', '1', '9223372036854775807', '9'.repeat(19)],
  'Currency.decimals': [0, 4, 18],
};

const named = (fields: readonly PublishedField[]) =>
  fields.map((field) => [`${field.record}.${field.isEdge ? 'edges.' : ''}${field.name}`, field] as const);
const ofRecord = (record: RecordName) => PUBLISHED_FIELDS.filter((field) => field.record === record);

describe('the tables of the published interface', () => {
  it('contain every record and field', () => {
    expect(new Set(PUBLISHED_FIELDS.map(({ record }) => record)).size).toBe(16);
    expect(PUBLISHED_FIELDS).toHaveLength(112);
  });

  it.each([...new Set(PUBLISHED_FIELDS.map(({ record }) => record))])(
    'accept a %s with only the required fields, and with all fields',
    (record) => {
      const all = ofRecord(record).reduce(
        (sofar, field) => withField(sofar, field, { value: leastValue(field) }),
        leastRecord(record),
      );

      expect(inspect(responseWith(record, leastRecord(record)))).toBeUndefined();
      expect(inspect(responseWith(record, all))).toBeUndefined();
    },
  );

  it.each(named(PUBLISHED_FIELDS.filter(({ isRequired }) => isRequired)))(
    'refuse a response without %s',
    (_, field) => {
      expect(messageFor(field, {})).toMatch(new RegExp(`must have required property '(${field.name}|edges)'$`));
    },
  );

  it.each(named(PUBLISHED_FIELDS.filter(({ isRequired }) => !isRequired)))(
    'accept a response without %s',
    (_, field) => {
      expect(messageFor(field, {})).toBeUndefined();
    },
  );

  it.each(named(PUBLISHED_FIELDS))('refuse %s of another type', (_, field) => {
    for (const value of WRONG[kindOf(field)] ?? []) {
      expect([value, messageFor(field, { value })]).toEqual([
        value,
        expect.stringMatching(new RegExp(`/${field.name}(/0)? must be `)),
      ]);
    }
  });

  it.each(
    named(PUBLISHED_FIELDS.filter(({ type }) => kindOf({ type } as PublishedField) === type || type.endsWith('[]'))),
  )('accepts any value of the type of %s', (path, field) => {
    for (const value of STATED[path] ?? UNUSUAL[kindOf(field)] ?? []) {
      expect([value, messageFor(field, { value })]).toEqual([value, undefined]);
    }
  });

  it.each([
    ['Transfer.amount', ['', '12.50', '-1', '01', '1e3', '1'.repeat(20)]],
    ['Currency.decimals', [-1, 19]],
  ])('refuse a value of %s that calculations cannot use', (path, values) => {
    const [, field] = named(PUBLISHED_FIELDS).find(([its]) => its === path) ?? [];
    if (field === undefined) throw new Error(`no field is ${path}`);
    for (const value of values) expect([value, messageFor(field, { value })]).toEqual([value, expect.any(String)]);
  });
});

describe('parts that the interface leaves open', () => {
  const transaction = (more: object) => ({
    id: 1,
    amount: '1',
    edges: { transaction: { id: 1, status: 'completed', ...more } },
  });
  const execution = { id: 'first', sequence: 0, status: 1, edges: { transaction: { status: null } } };

  it.each<[string, string, unknown]>([
    ['an order with no field', 'getOrder', {}],
    [
      'an order with fields of other types',
      'getOrder',
      {
        id: 'o-1',
        amount: 12.5,
        status: null,
        type: 7,
        edges: { executions: [execution], account: { id: 'a' }, recipient: null },
      },
    ],
    ['a list of such orders', 'listOrders', [{}, { repeatValue: 'often' }]],
    ['an order that was placed', 'placeOrder', { state: 'new' }],
    [
      'executed transfers of another layout',
      'getTransfer',
      transaction({ edges: { transfers: [{}, { amount: 5, id: 'x' }] } }),
    ],
    [
      'fields of ours with other types',
      'getTransfer',
      transaction({ orderID: 'o-1', returnOf: { id: 1 }, returnedBy: null }),
    ],
    [
      'a reason code that is a number',
      'getTransfer',
      transaction({
        edges: { internationalRemittance: { id: 1, edges: { events: [{ id: 1, status: 'new', reasonCode: 5 }] } } },
      }),
    ],
    ['a schema of another kind', 'listRecipientSchemas', [{ fields: ['iban'] }]],
  ])('accepts %s', (_, operation, value) => {
    expect(inspect({ operation, value })).toBeUndefined();
  });

  it.each<[string, string, unknown, string]>([
    ['an order that is no object', 'listOrders', [1], '/0 must be object'],
    ['edges of an order that are a list', 'getOrder', { edges: [] }, '/edges must be object'],
    ['a quote, which only our document has, without its fields', 'createQuote', {}, "must have required property 'id'"],
    [
      'a statement with a balance that is a text',
      'getStatement',
      { from: 'x', to: 'y', basis: 'booking', openingBalance: '0', closingBalance: 0, movements: [], edges: {} },
      '/openingBalance must be integer',
    ],
  ])('refuses %s', (_, operation, value, message) => {
    expect(inspect({ operation, value })).toContain(message);
  });
});
