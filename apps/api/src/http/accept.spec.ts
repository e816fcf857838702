import { JSON_ONLY, preferredType } from './accept.js';

describe('Given an Accept header and an operation that answers in JSON', () => {
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
  ])('When it is %j, Then JSON may be sent', (accept) => {
    expect(preferredType(accept, JSON_ONLY)).toBe('application/json');
  });

  it.each([
    'text/csv',
    'text/html, application/xml',
    'application/json;q=0',
    'application/json;q=0, */*',
    'application/jsonp',
  ])('When it is %j, Then JSON may not be sent', (accept) => {
    expect(preferredType(accept, JSON_ONLY)).toBeUndefined();
  });
});

describe('Given an Accept header and an operation that answers in JSON or CSV', () => {
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
  ])('When it is %j, Then the answer is in %j', (accept, type) => {
    expect(preferredType(accept, ['application/json', 'text/csv'])).toBe(type);
  });
});
