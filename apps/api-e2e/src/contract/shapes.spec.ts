import { faultsIn } from './shapes.js';

const currency = { id: 978, code: 'EUR', name: 'Euro' };
const product = { id: 1, name: 'Current account', edges: { currency } };

describe('tables of the published interface', () => {
  it('reports nothing for a record with the required fields', () => {
    expect(faultsIn([product, product], 'Product[]')).toEqual([]);
  });

  it.each([
    ['lacks a required field', { ...product, name: undefined }, ['Product.name is missing']],
    ['lacks a required edge', { ...product, edges: {} }, ['Product.edges.currency is missing']],
    ['has a null', { ...product, description: null }, ['Product.description is null']],
    [
      'has a null deep inside',
      { ...product, edges: { currency: { ...currency, symbol: null } } },
      ['Product.edges.currency.symbol is null'],
    ],
    ['has an id that is a string', { ...product, id: '1' }, ['Product.id is no id: "1"']],
    ['has an unpublished field', { ...product, secret: 1 }, ['Product.secret is not in the table']],
    [
      'has an instant without its fraction',
      { ...product, createdAt: '2026-11-21T09:30:00Z' },
      ['Product.createdAt is no time: "2026-11-21T09:30:00Z"'],
    ],
    ['is a list', [product], ['Product.id is missing']],
  ])('reports that a record %s', (_, record, faults) => {
    expect(faultsIn(record, 'Product')).toEqual(expect.arrayContaining(faults));
  });

  it('reports an amount that is a number', () => {
    expect(faultsIn({ id: 1, amount: 1250 }, 'Transfer')).toEqual(['Transfer.amount is no amount: 1250']);
    expect(faultsIn({ id: 1, amount: '1250' }, 'Balance')).toEqual(['Balance.amount is no integer: "1250"']);
  });
});
