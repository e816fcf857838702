import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { ConfigError } from '@banking/process';
import { DEFAULT_DIALECT, dialectOf, type FileRailConfig } from './rail-config.js';
import { readRails } from './rails-file.js';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rails-'));
  writeFileSync(join(folder, 'token'), 'secret\n');
  writeFileSync(join(folder, 'empty'), '\n');
  writeFileSync(join(folder, 'accented'), 'sécret\n');
  for (const name of ['exchange', 'other']) mkdirSync(join(folder, name));
});
afterAll(() => rmSync(folder, { recursive: true }));

const read = (text: string, isSandbox = true) => {
  const railsFile = join(folder, 'rails.yaml');
  writeFileSync(railsFile, text);
  return readRails({ railsFile, isSandbox }, 'payouts');
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

const FILES = `kind: iso20022, testMode: true, folder: exchange, accounts: [${ACCOUNT}]`;

describe('the file of payment networks', () => {
  it('is that of the page Go live', () => {
    const page = readFileSync(join(__dirname, '../../../docs/go-live.md'), 'utf8');
    const [, text = ''] = /`rails\.yaml`.*\n\n```yaml\n(.+?)```/s.exec(page) ?? [];
    mkdirSync(join(folder, 'bank-files'));

    expect(read(text, false).configured).toMatchObject([
      { name: 'bank-a', kind: 'iso20022', folder: join(folder, 'bank-files'), isTestMode: false },
    ]);
  });

  it('needs what the process uses: tokens to ask about payees, folders to move payouts', () => {
    const railsFile = join(folder, 'elsewhere.yaml');
    const [http, files] = [BANK.replace('token,', 'missing,'), FILES.replace('exchange', 'missing')];
    writeFileSync(railsFile, `rails: [{ name: a, ${http} }, { name: b, ${files.replace(/iban: \w+/, 'id: "1"')} }]`);
    const settings = { railsFile, isSandbox: true };

    expect(readRails(settings).names).toEqual(['a', 'b']);
    expect(() => readRails(settings, 'payees')).toThrow(/^(?!.*folder).*tokenFile: The file cannot be read/s);
    expect(() => readRails(settings, 'payouts')).toThrow(/tokenFile: .*\n.*folder: The folder cannot be used/s);
  });

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
    [
      'an unknown kind',
      `rails: [{ name: a, kind: pigeon }]`,
      /rails\[0\]\.kind: Write one of: http, iso20022, sandbox\./,
    ],
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

describe('a bank with files in the file of payment networks', () => {
  it('has its accounts, its folder, and what differs from the defaults', () => {
    const { configured } = read(`
rails:
  - name: bank-a
    kind: iso20022
    folder: exchange
    testMode: true
    accounts:
      - currency: EUR
        iban: DE89370400440532013000
        bic: COBADEFFXXX
        holder: Harbour Ltd
        holderAddress: { streetName: Pier, buildingNumber: "1", postCode: "20457", townName: Hamburg, country: DE }
        suspenseAccount: HB-1
    message: pain.001.001.03
    cutOff: { time: "15:30", timeZone: Europe/Berlin }
    holidays: { EUR: ["2026-12-24"] }
    closeAfterSeconds: 60
    paymentsMax: 500
    bicRequired: true
    batchBooking: false
    addressForm: hybrid
    creationTime: local
  - { name: bank-b, ${FILES.replace('exchange', 'other').replace('DE89370400440532013000', 'DE75512108001245126199')} }
`);

    expect(configured).toEqual([
      {
        ...{ name: 'bank-a', kind: 'iso20022', folder: join(folder, 'exchange'), isTestMode: true, serves: undefined },
        accounts: [
          {
            ...{
              currency: 'EUR',
              id: 'DE89370400440532013000',
              isIban: true,
              bic: 'COBADEFFXXX',
              holder: 'Harbour Ltd',
            },
            holderAddress: {
              ...{ streetName: 'Pier', buildingNumber: '1', postCode: '20457', townName: 'Hamburg', country: 'DE' },
            },
            suspenseAccount: 'HB-1',
          },
        ],
        dialect: {
          ...{ message: 'pain.001.001.03', cutOff: { time: '15:30', timeZone: 'Europe/Berlin' } },
          ...{ holidays: { EUR: ['2026-12-24'] }, closeAfterSeconds: 60, paymentsMax: 500, bicRequired: true },
          ...{ batchBooking: false, addressForm: 'hybrid', creationTime: 'local' },
        },
      },
      expect.objectContaining({ name: 'bank-b', folder: join(folder, 'other'), dialect: {} }),
    ]);
    expect(dialectOf(configured[1] as FileRailConfig)).toEqual(DEFAULT_DIALECT);
  });

  it('has its mistakes reported together, each with its line and field', () => {
    writeFileSync(join(folder, 'text'), '');
    const text = `rails:
  - name: a
    kind: iso20022
    folder: missing
    url: https://adapter.example
    cutOff: { time: "15:30", timeZone: Europe/Atlantis }
    holidays:
      ZZZ: ["2026-12-24"]
      EUR: ["2026-02-30"]
    accounts:
      - { currency: EUR, iban: DE89370400440532013000, bic: COBADEFFXXX, holder: 王小明 }
      - { currency: USD, id: "1", bic: COBADEFF, holder: Harbour Ltd, holderAddress: { townName: Kiel, country: XX } }
  - { name: b, ${FILES.replace('exchange', 'text')} }
  - { name: c, kind: iso20022, folder: exchange, testMode: true, accounts: [{ currency: GBP, id: "1", bic: COBADEFF, holder: H }] }
  - { name: d, kind: http, testMode: true, url: "https://a.example", tokenFile: token, folder: exchange, accounts: [${ACCOUNT}] }
  - { name: e, kind: iso20022, testMode: true, folder: ./exchange, accounts: [{ currency: CHF, id: "1", bic: COBADEFF, holder: H }] }
`;
    expect(mistakesOf(text)).toEqual([
      expect.stringMatching(/line 2, rails\[0\]: A sandbox has no bank that moves money/),
      expect.stringMatching(/line 4, rails\[0\]\.folder: The folder cannot be used \(ENOENT\)/),
      expect.stringMatching(/line 5, rails\[0\]\.url: A bank with files has no such setting/),
      expect.stringMatching(/line 6, rails\[0\]\.cutOff\.timeZone: There is no such time zone/),
      expect.stringMatching(/line 8, rails\[0\]\.holidays\.ZZZ: ISO 4217/),
      expect.stringMatching(/line 9, rails\[0\]\.holidays\.EUR\[0\]: There is no such day/),
      expect.stringMatching(/line 11, rails\[0\]\.accounts\[0\]\.holder: A file carries Latin letters only/),
      expect.stringMatching(/line 12, rails\[0\]\.accounts\[1\]\.holderAddress\.country: ISO 3166-1/),
      expect.stringMatching(/line 13, rails\[1\]\.accounts\[0\]: Another rail has this bank account/),
      expect.stringMatching(/line 13, rails\[1\]\.folder: This is no folder/),
      expect.stringMatching(/line 15, rails\[3\]\.accounts\[0\]: Another rail has this bank account/),
      expect.stringMatching(/line 15, rails\[3\]\.folder: An adapter over HTTP has no such setting/),
      expect.stringMatching(/line 16, rails\[4\]\.folder: Another rail has this folder/),
    ]);
  });

  it.each([
    ['without a folder', FILES.replace('folder: exchange, ', ''), /The member folder is missing/],
    ['without an account', FILES.replace(ACCOUNT, ''), /must NOT have fewer than 1 items/],
    [
      'with another message',
      `${FILES}, message: pain.001.001.12`,
      /Write one of: pain\.001\.001\.09, pain\.001\.001\.03/,
    ],
    [
      'with a time of another form',
      `${FILES}, cutOff: { time: "25:00", timeZone: UTC }`,
      /Hours and minutes in quotes/,
    ],
    ['with more payments in a file than it can have', `${FILES}, paymentsMax: 10001`, /must be <= 10000/],
    [
      'with an address of the holder at an adapter',
      BANK.replace('holder: Harbour Ltd', 'holder: Harbour Ltd, holderAddress: { townName: Kiel, country: DE }'),
      /accounts\[0\]\.holderAddress: An adapter over HTTP has no such setting/,
    ],
    [
      'with a setting of a file in a sandbox network',
      'kind: sandbox, folder: exchange',
      /The sandbox network has no such setting/,
    ],
  ])('is refused %s', (_what, settings, message) => {
    expect(mistakesOf(`rails: [{ name: a, ${settings} }]`)).toEqual([expect.stringMatching(message)]);
  });

  it('moves money in a live deployment only', () => {
    const live = FILES.replace('testMode: true, ', '');
    expect(read(`rails: [{ name: a, ${live} }]`, false).configured).toMatchObject([{ isTestMode: false }]);
    expect(mistakesOf(`rails: [{ name: a, ${FILES} }]`, false)).toEqual([
      expect.stringMatching(/A live deployment has no bank in its test mode/),
    ]);
  });

  it('keeps its folders on one file system', () => {
    mkdirSync(join(folder, 'split'));
    symlinkSync('/proc', join(folder, 'split', 'out'));

    expect(mistakesOf(`rails: [{ name: a, ${FILES.replace('exchange', 'split')} }]`)).toEqual([
      expect.stringMatching(/Its folder out is on another file system/),
    ]);
  });

  it('is refused by a deployment of several databases', () => {
    expect(() => read(`rails: [{ name: bank-a, ${FILES} }]`).refuseSeveralDatabases()).toThrow(
      /RAILS_FILE has the rail bank-a of kind iso20022, whose files one database writes and reads/,
    );
    expect(() => read(`rails: [{ name: a, ${BANK} }]`).refuseSeveralDatabases()).not.toThrow();
  });
});
