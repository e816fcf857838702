import {
  type CountedHeader,
  hasBrokenQuery,
  headerLines,
  JSON_ONLY,
  preferredType,
  repeatedHeader,
} from './request-head.js';

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

const requestWith = (...rawHeaders: string[]) => ({ raw: { rawHeaders } });

describe('headerLines', () => {
  it('returns the value of each line of a header, in any case of its name', () => {
    const request = requestWith('Workspace-ID', '1', 'Accept', 'workspace-id', 'WORKSPACE-ID', '2');

    expect(headerLines(request, 'workspace-id')).toEqual(['1', '2']);
  });

  it('returns nothing of other headers', () => {
    const request = requestWith('Accept', '*/*', 'Host', 'a', 'Content_Type', 'b', 'x'.repeat(40), 'c', '', 'd');

    expect(headerLines(request, 'workspace-id')).toEqual([]);
    expect(headerLines(request, 'content-type')).toEqual([]);
  });
});

describe('repeatedHeader', () => {
  const names = new Set<CountedHeader>(['accept', 'content-type']);

  it.each<[string[], string | undefined]>([
    [['Accept', 'a', 'Content-Type', 'b'], undefined],
    [['Accept', 'a', 'Content-Type', 'b', 'content-type', 'b', 'ACCEPT', 'a'], 'content-type'],
    [['Accept', 'a', 'accept', 'a', 'accept', 'a'], 'accept'],
    [['Host', 'a', 'host', 'a'], undefined],
  ])('of %j is %j', (rawHeaders, repeated) => {
    expect(repeatedHeader(requestWith(...rawHeaders), names)).toBe(repeated);
  });
});

describe('hasBrokenQuery', () => {
  it.each([
    '/orders',
    '/orders?',
    '/orders?externalReference=INV-1+2',
    '/orders?externalReference=%E2%82%AC%20%00',
    '/orders?externalReference=%25ED%25A0%2580',
    '/100%/orders?externalReference=a',
  ])('accepts %s', (url) => {
    expect(hasBrokenQuery(url)).toBe(false);
  });

  it.each([
    ['a percent sign alone', '/orders?externalReference=%'],
    ['a percent sign before letters', '/orders?externalReference=100%off'],
    ['a lone surrogate', '/orders?externalReference=%ED%A0%80'],
    ['a surrogate pair in UTF-8', '/orders?externalReference=%ED%A0%BD%ED%B2%A3'],
    ['an overlong NUL', '/orders?externalReference=%C0%80'],
    ['a truncated character', '/orders?externalReference=%E2%82'],
    ['a code point beyond Unicode', '/orders?externalReference=%F4%90%80%80'],
    ['Latin-1', '/orders?externalReference=%E9'],
    ['a broken name', '/orders?%FF=1'],
  ])('refuses %s', (_, url) => {
    expect(hasBrokenQuery(url)).toBe(true);
  });
});
