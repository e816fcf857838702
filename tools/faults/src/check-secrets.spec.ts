import { CANARY } from './plant-canaries.js';
import { patternOf } from './check-secrets.js';

const LINE =
  '{"level":"info","requestId":"8f5-12","method":"POST","route":"/accounts/{accountId}/orders","status":200,"ms":3.1}';

describe('search for secrets in a log', () => {
  const secret = patternOf(['c1gn.ture'], 'f5');

  it('accepts a request line', () => {
    expect(secret.exec(LINE)).toBeNull();
  });

  it.each([
    ['a token', 'eyJhbGciOiJFZERTQSJ9'],
    ['the signature of a token', 'c1gn.ture'],
    ['a key', 'f5-12'],
    ['an account code', 'BA1234567890123456'],
    ['an e-mail address', 'ada@northwind.example'],
    ['an account number', 'DE89370400440532013000'],
    ['a name', 'Northwind Trading Berlin'],
    ['a canary', `x${CANARY}x`],
  ])('finds %s', (_, text) => {
    expect(secret.exec(LINE.replace('"POST"', `"${text}"`))?.[0]).toBeDefined();
  });
});
