import { JSON_ONLY, preferredType } from './accept.js';

describe('preferredType for JSON', () => {
  it.each([
    undefined,
    '',
    '*/*',
    'application/json',
    'APPLICATION/JSON',
    'application/*',
    'text/html, */*;q=0.1',
    'text/html,application/json;q=0.5',
    'application/json; charset=utf-8',
  ])('selects JSON for %j', (accept) => {
    expect(preferredType(accept, JSON_ONLY)).toBe('application/json');
  });

  it.each([
    'text/csv',
    'text/html, application/xml',
    'application/json;q=0',
    'application/json;q=0, */*',
    'application/jsonp',
  ])('selects nothing for %j', (accept) => {
    expect(preferredType(accept, JSON_ONLY)).toBeUndefined();
  });
});

describe('preferredType for JSON or CSV', () => {
  it.each([
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['text/csv', 'text/csv'],
    ['Text/CSV; header=present', 'text/csv'],
    ['text/*', 'text/csv'],
    ['text/csv, application/json', 'application/json'],
    ['application/json;q=0.5, text/csv', 'text/csv'],
    ['text/csv;q=0.5, application/json;q=0.4', 'text/csv'],
    ['text/csv, */*', 'text/csv'],
    ['text/csv;q=0.9, */*', 'application/json'],
    ['text/csv;q=0, */*', 'application/json'],
    ['application/json;q=0, */*', 'text/csv'],
    ['*/*;q=0', undefined],
    ['text/html', undefined],
    ['text/csv;q=0', undefined],
  ])('selects for %j the type %j', (accept, type) => {
    expect(preferredType(accept, ['application/json', 'text/csv'])).toBe(type);
  });
});
