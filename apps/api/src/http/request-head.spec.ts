import { BlockList } from 'node:net';
import { readerOf } from '@banking/process';
import {
  type CountedHeader,
  hasBrokenQuery,
  headerLines,
  JSON_ONLY,
  preferredType,
  readTrustedProxies,
  repeatedHeader,
  sourceAddressOf,
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

describe('the source address of a request', () => {
  const read = (text: string) => {
    const reader = readerOf({ TRUSTED_PROXIES: text });
    return { proxies: readTrustedProxies(reader), mistakes: reader.mistakes };
  };

  const { proxies } = read('10.0.0.0/8, 192.0.2.1,2001:db8::/32');

  it.each([
    ['the peer without a header', '203.0.113.9', undefined, '203.0.113.9'],
    ['the peer if it is no trusted proxy', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['the client of a trusted proxy', '10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['the client of a mapped proxy', '::ffff:10.1.2.3', '::ffff:198.51.100.1', '198.51.100.1'],
    ['the client of two trusted proxies', '10.1.2.3', '198.51.100.1, 192.0.2.1', '198.51.100.1'],
    ['the client of a proxy by IPv6', '2001:db8::1', '2001:db9::5', '2001:db9::5'],
    ['no address that a client has invented', '10.1.2.3', '1.1.1.1, 198.51.100.1', '198.51.100.1'],
    ['the proxy if the header is no address', '10.1.2.3', '198.51.100.1, unknown', '10.1.2.3'],
    ['the first proxy if all are trusted', '10.1.2.3', '10.0.0.2,10.0.0.1', '10.0.0.2'],
    ['the proxy if the header has a zone', '10.1.2.3', 'fe80::1%any-text', '10.1.2.3'],
    ['empty without a peer, after a reset', undefined, '198.51.100.1', ''],
    ['the proxy if the header is empty', '10.1.2.3', '', '10.1.2.3'],
  ])('is %s', (_, peer, header, expected) => {
    expect(sourceAddressOf(peer, header, proxies)).toBe(expected);
  });

  it('is the peer if no proxy is trusted', () => {
    expect(sourceAddressOf('10.1.2.3', '198.51.100.1', new BlockList())).toBe('10.1.2.3');
  });

  it.each(['proxy', '10.0.0.0/33', '10.0.0.0/8/8', '10.0.0/8', '::1/129', '10.0.0.0/'])(
    'refuses %s as a trusted proxy',
    (text) => {
      expect(read(text).mistakes).toEqual([expect.stringContaining(`TRUSTED_PROXIES contains "${text}"`)]);
    },
  );
});
