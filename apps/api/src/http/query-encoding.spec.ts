import { hasBrokenQuery } from './query-encoding.js';

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
