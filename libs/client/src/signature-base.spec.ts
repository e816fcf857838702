import { componentReader } from './signature-base.js';

describe('components of a request', () => {
  it.each([
    ['https://bank.example', '/', '?', 'bank.example'],
    ['https://BANK.example:443/a?', '/a', '?', 'bank.example'],
    ['http://bank.example:8080/a/?b', '/a/', '?b', 'bank.example:8080'],
    ['https://bank.example/a%2Fb%20c?d=e%2Df+g&h=?#i', '/a%2Fb%20c', '?d=e%2Df+g&h=?', 'bank.example'],
  ])('follow RFC 9421, 2.2.3 to 2.2.7, for the URL %s', (url, path, query, authority) => {
    const read = componentReader({ method: 'GET', url: new URL(url), headers: {} }, {});

    expect(['@path', '@query', '@authority'].map(read)).toEqual([path, query, authority]);
  });

  it('have header values without surrounding spaces, or undefined', () => {
    const read = componentReader(
      { method: 'GET', url: new URL('https://bank.example'), headers: { 'X-A': ' b c\t' } },
      {},
    );

    expect(['x-a', 'X-A', 'x-b', '@status', '@query-param'].map(read)).toEqual(['b c', ...Array(4).fill(undefined)]);
  });
});
