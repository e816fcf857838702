import { answerChecks } from './answer-checks.js';
import { answerWith, leastRecord, leastValue, PUBLISHED_FIELDS, type PublishedField, type RecordName, withField } from './testing/published-tables.js'; // prettier-ignore

const inspect = answerChecks();

/** What is objected to when a field of a record that is otherwise good has another value, or is missing. */
const objectionTo = (field: PublishedField, to: { readonly value?: unknown }) =>
  inspect(answerWith(field.record, withField(leastRecord(field.record), field, to)));

const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  integer: ['1', 1.5, true, [], {}, null],
  string: [1, true, [], {}, null],
  boolean: ['true', 1, [], {}, null],
  object: ['x', 1, true, [], null],
  array: ['x', 1, true, {}, null, [1], ['x'], [null]],
};
const kindOf = ({ type }: PublishedField) => (type.endsWith('[]') ? 'array' : type in WRONG ? type : 'object');

/** Values of the stated type that our own deployments never send. */
const UNUSUAL: Readonly<Record<string, readonly unknown[]>> = {
  integer: [0, -1, Number.MAX_SAFE_INTEGER],
  string: ['', 'x'.repeat(10_000), '12.50', '-1', '1,5', '007', 'yesterday', '2026-11-21', '\u0000', 'عربى'],
  boolean: [true, false],
  object: [{ anything: [null, { of: 'theirs' }] }],
  array: [[]],
};
/** What the interface says of a value beside its type. */
const STATED: Readonly<Record<string, readonly unknown[]>> = {
  'Transfer.amount': ['0', '1', '9223372036854775807', '9'.repeat(19)],
  'Currency.decimals': [0, 4, 18],
};

const named = (fields: readonly PublishedField[]) =>
  fields.map((field) => [`${field.record}.${field.isEdge ? 'edges.' : ''}${field.name}`, field] as const);
const ofRecord = (record: RecordName) => PUBLISHED_FIELDS.filter((field) => field.record === record);

describe('Given the tables of the published interface', () => {
  it('has every record and field', () => {
    expect(new Set(PUBLISHED_FIELDS.map(({ record }) => record)).size).toBe(16);
    expect(PUBLISHED_FIELDS).toHaveLength(112);
  });

  it.each([...new Set(PUBLISHED_FIELDS.map(({ record }) => record))])(
    'accepts a %s with the required fields alone, and with all',
    (record) => {
      const all = ofRecord(record).reduce((sofar, field) => withField(sofar, field, { value: leastValue(field) }), leastRecord(record)); // prettier-ignore

      expect(inspect(answerWith(record, leastRecord(record)))).toBeUndefined();
      expect(inspect(answerWith(record, all))).toBeUndefined();
    },
  );

  it.each(named(PUBLISHED_FIELDS.filter(({ isRequired }) => isRequired)))(
    'refuses an answer without %s',
    (_, field) => {
      expect(objectionTo(field, {})).toMatch(new RegExp(`must have required property '(${field.name}|edges)'$`));
    },
  );

  it.each(named(PUBLISHED_FIELDS.filter(({ isRequired }) => !isRequired)))('accepts one without %s', (_, field) => {
    expect(objectionTo(field, {})).toBeUndefined();
  });

  it.each(named(PUBLISHED_FIELDS))('refuses %s of another type', (_, field) => {
    for (const value of WRONG[kindOf(field)] ?? []) {
      expect([value, objectionTo(field, { value })]).toEqual([value, expect.stringMatching(new RegExp(`/${field.name}(/0)? must be `))]); // prettier-ignore
    }
  });

  it.each(
    named(PUBLISHED_FIELDS.filter(({ type }) => kindOf({ type } as PublishedField) === type || type.endsWith('[]'))),
  )('accepts any value of the type of %s', (path, field) => {
    for (const value of STATED[path] ?? UNUSUAL[kindOf(field)] ?? []) {
      expect([value, objectionTo(field, { value })]).toEqual([value, undefined]);
    }
  });

  it.each([
    ['Transfer.amount', ['', '12.50', '-1', '01', '1e3', '1'.repeat(20)]],
    ['Currency.decimals', [-1, 19]],
  ])('refuses a value of %s that cannot be calculated with', (path, values) => {
    const [, field] = named(PUBLISHED_FIELDS).find(([its]) => its === path) ?? [];
    if (field === undefined) throw new Error(`no field is ${path}`);
    for (const value of values) expect([value, objectionTo(field, { value })]).toEqual([value, expect.any(String)]);
  });
});

describe('Given what the interface leaves open', () => {
  const transaction = (more: object) => ({ id: 1, amount: '1', edges: { transaction: { id: 1, status: 'completed', ...more } } }); // prettier-ignore
  const execution = { id: 'first', sequence: 0, status: 1, edges: { transaction: { status: null } } };

  it.each<[string, string, unknown]>([
    ['an order with no field', 'getOrder', {}],
    ['an order with fields of other types', 'getOrder', { id: 'o-1', amount: 12.5, status: null, type: 7, edges: { executions: [execution], account: { id: 'a' }, recipient: null } }], // prettier-ignore
    ['a list of such orders', 'listOrders', [{}, { repeatValue: 'often' }]],
    ['an order that was placed', 'placeOrder', { state: 'new' }],
    ['executed transfers of another layout', 'getTransfer', transaction({ edges: { transfers: [{}, { amount: 5, id: 'x' }] } })], // prettier-ignore
    ['fields of ours with other types', 'getTransfer', transaction({ orderID: 'o-1', returnOf: { id: 1 }, returnedBy: null })], // prettier-ignore
    ['a reason code that is a number', 'getTransfer', transaction({ edges: { internationalRemittance: { id: 1, edges: { events: [{ id: 1, status: 'new', reasonCode: 5 }] } } } })], // prettier-ignore
    ['a schema of another kind', 'listRecipientSchemas', [{ fields: ['iban'] }]],
  ])('accepts %s', (_, operation, value) => {
    expect(inspect({ operation, value })).toBeUndefined();
  });

  it.each<[string, string, unknown, string]>([
    ['an order that is no object', 'listOrders', [1], '/0 must be object'],
    ['edges of an order that are a list', 'getOrder', { edges: [] }, '/edges must be object'],
    ['a quote, which only our document has, without its fields', 'createQuote', {}, "must have required property 'id'"],
    ['a statement with a balance that is a text', 'getStatement', { from: 'x', to: 'y', basis: 'booking', openingBalance: '0', closingBalance: 0, movements: [], edges: {} }, '/openingBalance must be integer'], // prettier-ignore
  ])('refuses %s', (_, operation, value, objection) => {
    expect(inspect({ operation, value })).toContain(objection);
  });
});
