import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { testOrProve } from '@banking/postgres/testing';
import { offlineDocument } from '../docs/offline-document.js';
import {
  leastRecord,
  leastValue,
  PUBLISHED_FIELDS,
  type PublishedField,
  type RecordName,
  responseWith,
  withField,
} from './testing/published-tables.js';
import { checkedDocument, contentOf, type Document, responseValidator, type Schema } from './validate-response.js';

describe('responseValidator', () => {
  /** Responses of our own deployment, recorded by `npm run examples`. */
  const RECORDED = JSON.parse(readFileSync(join(__dirname, '../../examples.json'), 'utf8')) as Readonly<
    Record<string, readonly { readonly name: string; readonly response?: unknown }[]>
  >;
  const responses = Object.entries(RECORDED).flatMap(([operation, examples]) =>
    examples.flatMap(({ name, response }) => (response === undefined ? [] : [{ operation, name, value: response }])),
  );

  /** Records with the published fields only. */
  const TRANSFER = { id: 17, amount: '1875000' };
  const ACCOUNT = {
    id: 2,
    name: 'A',
    status: 'enabled',
    type: 'CACC',
    edges: {
      balances: [],
      currency: { id: 978, code: 'EUR', name: 'Euro' },
      product: { id: 2, name: 'P', edges: { currency: { id: 978, code: 'EUR', name: 'Euro' } } },
    },
  };

  /** Operations whose response is a map with members of one type. */
  const MAPS = ['listPurposes', 'getReadiness'];

  const inspect = responseValidator();

  it('accepts all recorded responses of our own deployment', () => {
    expect(responses.length).toBeGreaterThan(20);
    for (const { operation, name, value } of responses) {
      expect({ operation, name, message: inspect({ operation, value }) }).toEqual({
        operation,
        name,
        message: undefined,
      });
    }
  });

  it('accepts unknown fields at every place', () => {
    for (const { operation, value } of responses.filter((one) => !MAPS.includes(one.operation))) {
      expect(inspect({ operation, value: withMore(value) })).toBeUndefined();
    }
  });

  it('names the field of a wrong type, and not its value', () => {
    let places = 0;
    for (const { operation, value } of responses) {
      for (const { at, changed } of withOneWrong(value)) {
        const message = inspect({ operation, value: changed });
        if (isOpen(operation, at)) continue;
        places += 1;
        expect({ operation, at, isNamed: message?.startsWith(`${at} must be `) }).toEqual({
          operation,
          at,
          isNamed: true,
        });
        expect(message).not.toContain('odd-one');
      }
    }
    expect(places).toBeGreaterThan(300);
  });

  it.each([
    ['getTransfer', TRANSFER],
    [
      'getTransfer',
      {
        ...TRANSFER,
        type: 'teleport',
        createdAt: '21.11.2026',
        edges: { transaction: { id: 1, status: 'dreaming', hash: 'none' } },
      },
    ],
    [
      'getTransfer',
      { ...TRANSFER, edges: { transaction: { id: 1, status: 'completed', edges: { transfers: [{}] } } } },
    ],
    ['listApps', [{ id: 1, name: 'A' }]],
    ['listAppUsers', [{ id: 1, email: 'ada@bank.example' }]],
    [
      'listAppUsers',
      [
        {
          id: 1,
          email: 'ada@bank.example',
          edges: { roles: [{ id: 1, role: 'owner', edges: { workspace: { id: 1, name: 'W' } } }] },
        },
      ],
    ],
    ['listCorridors', [{}]],
    ['listProducts', [{ id: 2, name: 'P', edges: { currency: { id: 978, code: 'EUR', name: 'Euro' } } }]],
    [
      'getRecipient',
      {
        id: 2,
        name: 'R',
        accountCode: '1',
        edges: { beneficiary: { id: 1, data: { beneficiaryName: { first: 'A' } } } },
      },
    ],
    ['getAccount', ACCOUNT],
  ])('accepts a response of %s with only required fields or values of its own: %j', (operation, value) => {
    expect(inspect({ operation, value })).toBeUndefined();
  });

  it.each([
    [62, undefined],
    [64, 'it is nested deeper than 64 levels'],
    [100_000, 'it is nested deeper than 64 levels'],
  ])('returns for an unknown field that is nested %i deep %j', (depth, message) => {
    const value = JSON.parse(`{"id":17,"amount":"5","x":${'['.repeat(depth)}${']'.repeat(depth)}}`) as unknown;

    expect(inspect({ operation: 'getTransfer', value })).toBe(message);
  });

  it.each([
    ['getTransfer', { id: 17 }, "/ must have required property 'amount'"],
    ['getTransfer', { ...TRANSFER, amount: '18.75' }, '/amount must match pattern'],
    ['getTransfer', { ...TRANSFER, amount: 1875000 }, '/amount must be string'],
    ['getTransfer', { ...TRANSFER, feeAmount: 1 }, '/feeAmount must be string'],
    [
      'getTransfer',
      { ...TRANSFER, edges: { balance: { id: 1, amount: '45' } } },
      '/edges/balance/amount must be integer',
    ],
    [
      'getTransfer',
      { ...TRANSFER, edges: { balance: { id: 1, amount: 4.5 } } },
      '/edges/balance/amount must be integer',
    ],
    ['getTransfer', { ...TRANSFER, edges: null }, '/edges must be object'],
    ['getAccount', { ...ACCOUNT, edges: undefined }, "/ must have required property 'edges'"],
    [
      'listApps',
      [
        { id: 1, name: 'A' },
        { id: '2', name: 'B' },
      ],
      '/1/id must be integer',
    ],
    [
      'listAppUsers',
      [{ id: 1, email: 'a@b.example', edges: { roles: [{ id: 1, role: 'admin' }] } }],
      "/0/edges/roles/0 must have required property 'edges'",
    ],
    ['listPurposes', { IR001: 1 }, '/IR001 must be string'],
    ['createQuote', {}, "/ must have required property 'id'"],
  ])('names the wrong field of a response of %s: %j', (operation, value, message) => {
    expect(inspect({ operation, value: JSON.parse(JSON.stringify(value)) as unknown })).toContain(message);
  });

  /** Whether the interface leaves a place open: data of a beneficiary, fields of ours, and records without published fields. */
  const isOpen = (operation: string, at: string) =>
    /Order|RecipientSchemas$|Approval|^get(Live|Readi)ness$/.test(operation) ||
    /\/beneficiary\/data\/|\/(?:reasonCode|orderID|returnOf|returnedBy)$|\/(?:fee|verification)\/|\/edges\/transfers\//.test(
      at,
    );

  function withMore(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(withMore);
    if (typeof value !== 'object' || value === null) return value;
    const fields = Object.entries(value).map(([name, one]) => [name, isMap(name) ? one : withMore(one)] as const);
    return { ...Object.fromEntries(fields), somethingNew: { of: ['later'] } };
  }

  /** The keys of these objects are data. */
  const isMap = (name: string) => ['metadata', 'properties', 'examples'].includes(name);

  /** Copies of a value, each with one place changed to a wrong type. */
  function withOneWrong(value: unknown, at = ''): { readonly at: string; readonly changed: unknown }[] {
    if (typeof value !== 'object' || value === null) {
      return [{ at, changed: typeof value === 'string' ? 4711.5 : 'odd-one' }];
    }
    return Object.entries(value).flatMap(([name, one]) =>
      withOneWrong(one, `${at}/${name}`).map(({ at: place, changed }) => ({
        at: place,
        changed: Array.isArray(value) ? value.with(Number(name), changed) : { ...value, [name]: changed },
      })),
    );
  }
});

describe('published fields', () => {
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
      [
        'a quote, which only our document has, without its fields',
        'createQuote',
        {},
        "must have required property 'id'",
      ],
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
});

describe('the document of a gateway', () => {
  const RUNS = testOrProve(500, 2_000);
  let ours: Document;
  let checked: Document;
  let examples: { operation: string; schema: Schema; value: unknown }[];
  beforeAll(async () => {
    const text = JSON.stringify(await offlineDocument());
    ours = JSON.parse(text) as Document;
    checked = JSON.parse(checkedDocument(text)) as Document;
    examples = Object.values(checked.paths).flatMap((item) =>
      Object.values(item).flatMap((operation) => {
        const { schema, examples = {} } = (contentOf(operation) ?? {}) as { schema: Schema; examples?: object };
        return (Object.values(examples) as { value: unknown }[]).map(({ value }) => ({
          ...{ operation: operation.operationId, schema, value },
        }));
      }),
    );
  });

  /** Whether a value conforms to the document, beside the error of its first place. */
  function conforms() {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'document', components: checked.components });
    const compiled = new Map<Schema, ReturnType<typeof ajv.compile>>();
    return (schema: Schema, value: unknown) => {
      let check = compiled.get(schema);
      if (check === undefined) {
        check = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')) as object);
        compiled.set(schema, check);
      }
      return check(value);
    };
  }

  it('promises nothing of a response that the gateway does not check', () => {
    const inspect = responseValidator();
    const check = conforms();
    expect(examples.length).toBeGreaterThan(20);
    let passed = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...examples),
        fc.infiniteStream(fc.nat()),
        fc.jsonValue(),
        (example, numbers, other) => {
          const value = withOneChange(example.value, numbers, other);
          if (inspect({ operation: example.operation, value }) !== undefined) return;
          passed += 1;
          expect([example.operation, value, check(example.schema, value)]).toEqual([example.operation, value, true]);
        },
      ),
      { numRuns: RUNS },
    );
    expect(passed).toBeGreaterThan(RUNS / 10);
  });

  it('names the same fields with the same descriptions, and leaves requests as they are', () => {
    for (const [name, { properties = {} }] of Object.entries(ours.components.schemas)) {
      const shown = checked.components.schemas[name]?.properties ?? {};

      expect(Object.keys(shown)).toEqual(Object.keys(properties));
      for (const [field, { description }] of Object.entries(properties)) {
        expect(shown[field]?.['description']).toBe(description);
      }
    }
    const { PlaceOrderInput } = checked.components.schemas;
    expect(PlaceOrderInput).toEqual(ours.components.schemas['PlaceOrderInput']);
  });

  it('lists no values and no formats of a deployment that it does not check', () => {
    const { Transaction, Currency } = checked.components.schemas;

    expect(Transaction?.properties?.['status']).toEqual(
      expect.not.objectContaining({ enum: expect.anything() as unknown }),
    );
    expect(Transaction?.properties?.['hash']).toEqual(
      expect.not.objectContaining({ pattern: expect.anything() as unknown }),
    );
    expect(Currency?.properties?.['decimals']).toMatchObject({ minimum: 0, maximum: 18 });
  });

  /** The value with one of its parts replaced or removed, wherever the numbers lead. */
  function withOneChange(value: unknown, numbers: Iterator<number>, other: unknown): unknown {
    const next = () => numbers.next().value as number;
    const keys = typeof value === 'object' && value !== null ? Object.keys(value) : [];
    if (keys.length === 0 || next() % 5 === 0) return other;
    const key = keys[next() % keys.length]!;
    const inner = (value as Record<string, unknown>)[key];
    if (!Array.isArray(value) && next() % 6 === 0) {
      return Object.fromEntries(Object.entries(value as object).filter(([name]) => name !== key));
    }
    const changed = withOneChange(inner, numbers, other);
    return Array.isArray(value)
      ? value.map((item, index) => (String(index) === key ? changed : (item as unknown)))
      : { ...(value as object), [key]: changed };
  }
});
