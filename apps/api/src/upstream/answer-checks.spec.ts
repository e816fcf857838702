import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerChecks } from './answer-checks.js';

const RECORDED = join(__dirname, '../../examples');

/** Answers of our own deployment, which `npm run examples` has recorded. */
const answers = readdirSync(RECORDED).flatMap((operation) =>
  readdirSync(join(RECORDED, operation)).map((file) => {
    const text = readFileSync(join(RECORDED, operation, file), 'utf8');
    return { operation, file, value: JSON.parse(text) as unknown };
  }),
);

/** As the published interface has them, and nothing that it leaves to whoever answers. */
const TRANSFER = { id: 17, amount: '1875000' };
const ACCOUNT = { id: 2, name: 'A', status: 'enabled', type: 'CACC', edges: { balances: [], currency: { id: 978, code: 'EUR', name: 'Euro' }, product: { id: 2, name: 'P', edges: { currency: { id: 978, code: 'EUR', name: 'Euro' } } } } }; // prettier-ignore

/** Their answers hold a map, every member of which has a type. */
const MAPS = ['listPurposes', 'getReadiness'];

describe('Given checks made from the document of our own interface', () => {
  const inspect = answerChecks();

  it('When our own deployment answers, Then nothing is wrong with any of its answers', () => {
    expect(existsSync(RECORDED)).toBe(true);
    expect(answers.length).toBeGreaterThan(20);
    for (const { operation, file, value } of answers) {
      expect({ operation, file, objection: inspect({ operation, value }) }).toEqual({ operation, file, objection: undefined }); // prettier-ignore
    }
  });

  it('When an answer has fields we do not know, Then they pass, wherever they stand', () => {
    for (const { operation, value } of answers.filter((one) => !MAPS.includes(one.operation))) {
      expect(inspect({ operation, value: withMore(value) })).toBeUndefined();
    }
  });

  it('When one value is of another type, Then that place is named, and its value is not', () => {
    let places = 0;
    for (const { operation, value } of answers) {
      for (const { at, changed } of withOneWrong(value)) {
        const objection = inspect({ operation, value: changed });
        if (isOpen(operation, at)) continue;
        places += 1;
        expect({ operation, at, isNamed: objection?.startsWith(`${at} must be `) }).toEqual({
          operation,
          at,
          isNamed: true,
        });
        expect(objection).not.toContain('odd-one');
      }
    }
    expect(places).toBeGreaterThan(300);
  });

  it.each([
    ['getTransfer', TRANSFER],
    ['getTransfer', { ...TRANSFER, type: 'teleport', createdAt: '21.11.2026', edges: { transaction: { id: 1, status: 'dreaming', hash: 'none' } } }], // prettier-ignore
    ['getTransfer', { ...TRANSFER, edges: { transaction: { id: 1, status: 'completed', edges: { transfers: [{}] } } } }], // prettier-ignore
    ['listApps', [{ id: 1, name: 'A' }]],
    ['listAppUsers', [{ id: 1, email: 'ada@bank.example' }]],
    ['listAppUsers', [{ id: 1, email: 'ada@bank.example', edges: { roles: [{ id: 1, role: 'owner', edges: { workspace: { id: 1, name: 'W' } } }] } }]], // prettier-ignore
    ['listCorridors', [{}]],
    ['listProducts', [{ id: 2, name: 'P', edges: { currency: { id: 978, code: 'EUR', name: 'Euro' } } }]],
    ['getRecipient', { id: 2, name: 'R', accountCode: '1', edges: { beneficiary: { id: 1, data: { beneficiaryName: { first: 'A' } } } } }], // prettier-ignore
    ['getAccount', ACCOUNT],
  ])('When %s holds no more than it must, or words of its own, as in %j, Then it passes', (operation, value) => {
    expect(inspect({ operation, value })).toBeUndefined();
  });

  it.each([
    [62, undefined],
    [64, 'it is nested deeper than 64 levels'],
    [100_000, 'it is nested deeper than 64 levels'],
  ])('When a field we do not know is nested %i deep, Then the objection is %j', (depth, objection) => {
    const value = JSON.parse(`{"id":17,"amount":"5","x":${'['.repeat(depth)}${']'.repeat(depth)}}`) as unknown;

    expect(inspect({ operation: 'getTransfer', value })).toBe(objection);
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
    ['listAppUsers', [{ id: 1, email: 'a@b.example', edges: { roles: [{ id: 1, role: 'admin' }] } }], "/0/edges/roles/0 must have required property 'edges'"], // prettier-ignore
    ['listPurposes', { IR001: 1 }, '/IR001 must be string'],
    ['createQuote', {}, "/ must have required property 'id'"],
  ])('When %s is %j, Then it is said where it is wrong', (operation, value, objection) => {
    expect(inspect({ operation, value: JSON.parse(JSON.stringify(value)) as unknown })).toContain(objection);
  });
});

/** What the interface leaves open: what is inside the data of a beneficiary, fields of ours, and records that it does not show. */
const isOpen = (operation: string, at: string) =>
  /Order|RecipientSchemas$|^get(Live|Readi)ness$/.test(operation) ||
  /\/beneficiary\/data\/|\/(?:reasonCode|orderID|returnOf|returnedBy)$|\/edges\/transfers\//.test(at);

function withMore(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMore);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, one]) => [name, isMap(name) ? one : withMore(one)] as const);
  return { ...Object.fromEntries(fields), somethingNew: { of: ['later'] } };
}

/** What is below is not ours to name. */
const isMap = (name: string) => ['metadata', 'properties', 'examples'].includes(name);

/** The same value as often as it has places, each time with one of them changed into what it cannot be. */
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
