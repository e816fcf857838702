import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { responseValidator } from './validate-response.js';

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

describe('responseValidator', () => {
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
});

/** Whether the interface leaves a place open: data of a beneficiary, fields of ours, and records without published fields. */
const isOpen = (operation: string, at: string) =>
  /Order|RecipientSchemas$|^get(Live|Readi)ness$/.test(operation) ||
  /\/beneficiary\/data\/|\/(?:reasonCode|orderID|returnOf|returnedBy)$|\/edges\/transfers\//.test(at);

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
