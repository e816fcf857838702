import { acceptsJson } from './accept.js';

describe('Given an Accept header', () => {
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
    expect(acceptsJson(accept)).toBe(true);
  });

  it.each([
    'text/csv',
    'text/html, application/xml',
    'application/json;q=0',
    'application/json;q=0, */*',
    'application/jsonp',
  ])('When it is %j, Then JSON may not be sent', (accept) => {
    expect(acceptsJson(accept)).toBe(false);
  });
});
