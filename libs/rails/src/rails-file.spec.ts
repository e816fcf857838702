import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { ConfigError } from '@banking/process';
import { readRails } from './rails-file.js';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rails-'));
  writeFileSync(join(folder, 'token'), 'secret\n');
  writeFileSync(join(folder, 'empty'), '\n');
  writeFileSync(join(folder, 'accented'), 'sécret\n');
});
afterAll(() => rmSync(folder, { recursive: true }));

const read = (text: string, isSandbox = true) => {
  const railsFile = join(folder, 'rails.yaml');
  writeFileSync(railsFile, text);
  return readRails({ railsFile, isSandbox });
};

function mistakesOf(text: string, isSandbox = true): string[] {
  try {
    read(text, isSandbox);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split('\n').filter((line) => line.includes('line '));
  }
  return [];
}

const ACCOUNT = '{ currency: EUR, iban: DE89370400440532013000, bic: COBADEFFXXX, holder: Harbour Ltd }';
const BANK = `kind: http, testMode: true, url: "https://adapter.example/v1", tokenFile: token, accounts: [${ACCOUNT}]`;

describe('the file of payment networks', () => {
  it('lists networks with what they serve, their accounts and their settings', () => {
    const { configured } = read(`
rails:
  - name: bank-a
    kind: http
    serves:
      - { payoutMethod: SWIFT, countries: [DE, IN], currencies: [EUR] }
    accounts:
      - ${ACCOUNT}
      - { currency: USD, id: "12-34", bic: COBADEFF, holder: Harbour Ltd }
    url: http://127.0.0.1:4000/v1
    tokenFile: token
    timeoutMs: 5000
    testMode: true
  - { name: sandbox, kind: sandbox }
`);

    expect(configured).toEqual([
      {
        ...{ name: 'bank-a', kind: 'http', url: 'http://127.0.0.1:4000/v1', tokenFile: join(folder, 'token') },
        serves: [{ payoutMethod: 'SWIFT', countries: ['DE', 'IN'], currencies: ['EUR'] }],
        accounts: [
          { currency: 'EUR', id: 'DE89370400440532013000', isIban: true, bic: 'COBADEFFXXX', holder: 'Harbour Ltd' },
          { currency: 'USD', id: '12-34', isIban: false, bic: 'COBADEFF', holder: 'Harbour Ltd' },
        ],
        ...{ timeoutMs: 5_000, isTestMode: true },
      },
      { name: 'sandbox', kind: 'sandbox' },
    ]);
  });

  it('may be left out: a sandbox has its own network, and a live deployment none', () => {
    expect(readRails({ isSandbox: true }).names).toEqual(['sandbox']);
    expect(readRails({ isSandbox: false }).names).toEqual([]);
  });

  it('has its mistakes reported together, each with its line and field, and none of its values', () => {
    const text = `rails:
  - name: bank-a
    kind: http
    url: http://adapter.example
    tokenFile: missing
    serves:
      - { countries: [DE, XX], currencies: [USD, ZZZ] }
    accounts:
      - { currency: EUR, iban: DE00370400440532013000, bic: COBADEFFXXX, holder: Harbour Ltd }
      - { currency: EUR, iban: DE89370400440532013000, id: "1", bic: COBA, holder: Harbour Ltd }
      - { currency: ZZZ, bic: COBADEFF, holder: Harbour Ltd }
  - { name: bank-a, ${BANK} }
  - { name: own, kind: sandbox, url: "https://adapter.example", testMode: true }
`;
    expect(mistakesOf(text, false)).toEqual([
      expect.stringMatching(/line 4, rails\[0\]\.url: Use https/),
      expect.stringMatching(/line 5, rails\[0\]\.tokenFile: The file cannot be read \(ENOENT\)/),
      expect.stringMatching(/line 7, rails\[0\]\.serves\[0\]\.countries\[1\]: ISO 3166-1 has no such country/),
      expect.stringMatching(
        /line 7, rails\[0\]\.serves\[0\]\.currencies\[0\]: The rail has no account in this currency/,
      ),
      expect.stringMatching(/line 7, rails\[0\]\.serves\[0\]\.currencies\[1\]: ISO 4217/),
      expect.stringMatching(/line 9, rails\[0\]\.accounts\[0\]\.iban: This is not an IBAN/),
      expect.stringMatching(/line 10, rails\[0\]\.accounts\[1\]\.currency: The rail has another account/),
      expect.stringMatching(/line 10, rails\[0\]\.accounts\[1\]: An account has either an iban or an id/),
      expect.stringMatching(/line 10, rails\[0\]\.accounts\[1\]\.bic: This is not a BIC/),
      expect.stringMatching(/line 11, rails\[0\]\.accounts\[2\]\.currency: ISO 4217/),
      expect.stringMatching(/line 11, rails\[0\]\.accounts\[2\]: An account has either an iban or an id/),
      expect.stringMatching(/line 12, rails\[1\]\.name: Another rail has this name/),
      expect.stringMatching(
        /line 12, rails\[1\]: A live deployment has no adapter in its test mode\..* remove testMode\./,
      ),
      expect.stringMatching(/line 13, rails\[2\]\.kind: The sandbox network moves no money/),
      expect.stringMatching(/line 13, rails\[2\]\.url: The sandbox network has no such setting/),
      expect.stringMatching(/line 13, rails\[2\]\.testMode: The sandbox network has no such setting/),
    ]);
  });

  it.each([
    ['an unknown kind', `rails: [{ name: a, kind: pigeon }]`, /rails\[0\]\.kind: Write one of: http, sandbox\./],
    ['a name of another form', `rails: [{ name: Bank A, kind: sandbox }]`, /rails\[0\]\.name: Write it as described/],
    ['a missing setting', `rails: [{ name: a, kind: http, url: "https://a.example", accounts: [] }]`, /tokenFile/],
    ['a setting without a meaning', `rails: [{ name: a, kind: sandbox, currency: EUR }]`, /There is no such member/],
    ['an empty file of a token', `rails: [{ name: a, ${BANK.replace('token,', 'empty,')} }]`, /The file is empty/],
    [
      'a token that no header carries',
      `rails: [{ name: a, ${BANK.replace('token,', 'accented,')} }]`,
      /printable ASCII/,
    ],
    [
      'an adapter that moves money',
      `rails:\n  - { name: a, ${BANK.replace('testMode: true, ', '')} }`,
      /line 2, rails\[0\]: A sandbox has no adapter that moves money\..* write testMode: true\./,
    ],
    [
      'an adapter that is said to move money',
      `rails: [{ name: a, ${BANK.replace('testMode: true', 'testMode: false')} }]`,
      /rails\[0\]: A sandbox has no adapter that moves money/,
    ],
    ['a login in a URL', `rails: [{ name: a, ${BANK.replace('//', '//u:p@')} }]`, /The URL has a login/],
    ['text that is no YAML', 'rails: [', /This is not YAML/],
  ])('is refused with %s', (_what, text, message) => {
    expect(mistakesOf(text)).toEqual([expect.stringMatching(message)]);
  });

  it('has adapters that move money in a live deployment', () => {
    const { configured } = read(`rails: [{ name: a, ${BANK.replace('testMode: true, ', '')} }]`, false);

    expect(configured).toMatchObject([{ name: 'a', isTestMode: false }]);
  });

  it('is refused where it cannot be read', () => {
    expect(() => readRails({ railsFile: join(folder, 'none.yaml'), isSandbox: true })).toThrow(
      /cannot be read \(ENOENT\)/,
    );
  });
});
