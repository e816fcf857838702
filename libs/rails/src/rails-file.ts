import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { join, resolve, dirname } from 'node:path';
import { isCurrencyCode } from '@banking/domain';
import { SANDBOX_RAIL } from '@banking/payouts';
import {
  ConfigError,
  isTrustworthy,
  readSecretFile,
  readYamlDocument,
  type ReportMistake,
  SecretFileError,
} from '@banking/process';
import { countryOf } from '@banking/reference';
import { isValidBIC, isValidIBAN } from 'ibantools';
import { isTimeZone } from './iso20022/bank-days.js';
import { isRecognizable } from './iso20022/characters.js';
import type { BankAccount, BankDialect, HolderAddress, RailConfig, Served } from './rail-config.js';
import { Rails } from './rails.js';

/** A payment network as it is written in the file. */
interface WrittenRail extends Partial<BankDialect> {
  readonly name: string;
  readonly kind: RailConfig['kind'];
  readonly serves?: readonly Served[];
  readonly accounts?: readonly WrittenAccount[];
  readonly url?: string;
  readonly tokenFile?: string;
  readonly timeoutMs?: number;
  readonly testMode?: boolean;
  readonly folder?: string;
}

interface WrittenAccount {
  readonly currency: string;
  readonly iban?: string;
  readonly id?: string;
  readonly bic: string;
  readonly holder: string;
  readonly holderAddress?: HolderAddress;
  readonly suspenseAccount?: string;
}

interface RailsFile {
  readonly rails: readonly WrittenRail[];
}

const SCHEMA = JSON.parse(readFileSync(join(__dirname, '../rails-file.schema.json'), 'utf8')) as object;

/** How messages call the file. */
const NAME = 'RAILS_FILE';

export interface RailsSettings {
  /** The path of the file. Without one, a sandbox has the network of the sandbox, and a live deployment none. */
  readonly railsFile?: string | undefined;
  readonly isSandbox: boolean;
}

/**
 * What a process does with the networks: it names them, asks them about payees, for which it needs their tokens, or moves payouts, for
 * which it needs the folders of banks too.
 */
export type RailUse = 'names' | 'payees' | 'payouts';

/**
 * Reads the payment networks of a deployment.
 *
 * @throws ConfigError with all mistakes of the file, each with its line and field, and with the tokens and folders that the process cannot use
 */
export function readRails({ railsFile, isSandbox }: RailsSettings, use: RailUse = 'names'): Rails {
  if (railsFile === undefined) return new Rails(isSandbox ? [{ name: SANDBOX_RAIL, kind: 'sandbox' }] : []);
  const file = resolve(railsFile);
  const folder = dirname(file);
  const { rails } = readYamlDocument<RailsFile>(NAME, textOf(file), SCHEMA, (written, report) =>
    checkRails(written, { folder, isSandbox, use, report }),
  );
  return new Rails(rails.map((rail) => configOf(rail, folder)));
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError([`RAILS_FILE cannot be read (${code}). Set the path of a file that this process may read.`]);
  }
}

/** @param folder relative paths in the file begin there */
function configOf({ name, kind, serves, accounts = [], ...settings }: WrittenRail, folder: string): RailConfig {
  if (kind === 'sandbox') return { name, kind, ...(serves && { serves }) };
  const { url = '', tokenFile = '', timeoutMs, testMode = false, folder: exchanged = '', ...dialect } = settings;
  if (kind === 'iso20022') {
    return {
      ...{ name, kind, serves, folder: resolve(folder, exchanged), isTestMode: testMode, dialect },
      accounts: accounts.map(accountOf),
    };
  }
  return {
    ...{ name, kind, serves, url, tokenFile: resolve(folder, tokenFile) },
    accounts: accounts.map(accountOf),
    ...(timeoutMs !== undefined && { timeoutMs }),
    isTestMode: testMode,
  };
}

const accountOf = ({ iban, id, ...account }: WrittenAccount): BankAccount =>
  iban === undefined ? { ...account, id: id ?? '', isIban: false } : { ...account, id: iban, isIban: true };

interface Checking {
  /** Relative paths in the file begin there. */
  readonly folder: string;
  readonly isSandbox: boolean;
  readonly use: RailUse;
  readonly report: ReportMistake;
}

/** Reports what a schema cannot express. */
function checkRails({ rails }: RailsFile, checking: Checking): void {
  checkShared(rails, checking.report);
  for (const [index, rail] of rails.entries()) {
    const report: ReportMistake = (path, message) => checking.report(['rails', index, ...path], message);
    const isRepeated = rails.slice(0, index).some((other) => other.name === rail.name);
    if (isRepeated) report(['name'], 'Another rail has this name. Write one of its own.');
    if (rail.kind === 'sandbox') checkSandbox(rail, checking.isSandbox, report);
    else checkTestMode(rail, checking.isSandbox, report);
    checkSettings(rail, report);
    if (rail.kind === 'http') checkAddress(rail, checking, report);
    if (rail.kind === 'iso20022') checkFiles(rail, rails.slice(0, index), checking, report);
    for (const [place, served] of (rail.serves ?? []).entries()) checkServed(rail, served, place, report);
    for (const [place, account] of (rail.accounts ?? []).entries()) checkAccount(rail, account, place, report);
  }
}

/** The settings that each kind has. */
const SETTINGS = {
  http: ['accounts', 'url', 'tokenFile', 'timeoutMs', 'testMode'],
  iso20022: [
    ...['accounts', 'folder', 'testMode', 'message', 'cutOff', 'holidays', 'closeAfterSeconds', 'paymentsMax'],
    ...['bicRequired', 'batchBooking', 'addressForm', 'creationTime'],
  ],
  sandbox: [],
} as const satisfies Readonly<Record<RailConfig['kind'], readonly (keyof WrittenRail)[]>>;

const KINDS = {
  http: 'An adapter over HTTP',
  iso20022: 'A bank with files',
  sandbox: 'The sandbox network',
} as const satisfies Readonly<Record<RailConfig['kind'], string>>;

function checkSettings(rail: WrittenRail, report: ReportMistake): void {
  const own: readonly string[] = ['name', 'kind', 'serves', ...SETTINGS[rail.kind]];
  for (const member of Object.keys(rail)) {
    if (!own.includes(member)) report([member], `${KINDS[rail.kind]} has no such setting. Remove it.`);
  }
}

function checkSandbox(rail: WrittenRail, isSandbox: boolean, report: ReportMistake): void {
  if (!isSandbox) {
    report(['kind'], 'The sandbox network moves no money, so a live deployment has none. Remove this rail.');
  }
}

/** Demo money must never be paid out, and real money never to an adapter that pays nothing. */
function checkTestMode({ kind, testMode = false }: WrittenRail, isSandbox: boolean, report: ReportMistake): void {
  const what = kind === 'http' ? 'adapter' : 'bank';
  if (isSandbox && !testMode) {
    report([], `A sandbox has no ${what} that moves money. Name one in its test mode, and write testMode: true.`);
  }
  if (!isSandbox && testMode) {
    report([], `A live deployment has no ${what} in its test mode. Name one that moves money, and remove testMode.`);
  }
}

function checkAddress({ url, tokenFile }: WrittenRail, { folder, use }: Checking, report: ReportMistake): void {
  const fault = url === undefined ? undefined : faultOfUrl(url);
  if (fault !== undefined) report(['url'], fault);
  const isRead = use !== 'names' && tokenFile !== undefined;
  const unusable = isRead ? faultOfToken(resolve(folder, tokenFile)) : undefined;
  if (unusable !== undefined) report(['tokenFile'], unusable);
}

/** @param others the networks before it in the file */
function checkFiles(
  rail: WrittenRail,
  others: readonly WrittenRail[],
  { folder: base, use }: Checking,
  report: ReportMistake,
): void {
  const { folder, cutOff, holidays = {}, accounts = [] } = rail;
  const path = resolve(base, folder ?? '');
  const fault = use === 'payouts' ? faultOfFolder(path) : undefined;
  if (fault !== undefined) report(['folder'], fault);
  if (others.some((other) => other.kind === 'iso20022' && resolve(base, other.folder ?? '') === path)) {
    report(['folder'], 'Another rail has this folder. Name one of its own.');
  }
  if (cutOff && !isTimeZone(cutOff.timeZone)) {
    report(['cutOff', 'timeZone'], 'There is no such time zone. Write one such as Europe/Berlin.');
  }
  for (const [currency, days] of Object.entries(holidays)) {
    if (!isCurrencyCode(currency)) report(['holidays', currency], UNKNOWN_CURRENCY);
    for (const [at, day] of days.entries()) {
      if (Number.isNaN(Date.parse(day)) || new Date(day).toISOString().slice(0, 10) !== day) {
        report(['holidays', currency, at], 'There is no such day. Correct it.');
      }
    }
  }
  for (const [place, account] of accounts.entries()) {
    if (!isRecognizable(account.holder)) {
      report(['accounts', place, 'holder'], 'A file carries Latin letters only. Write the name in them.');
    }
    const { holderAddress } = account;
    if (holderAddress && !countryOf(holderAddress.country)) {
      report(['accounts', place, 'holderAddress', 'country'], 'ISO 3166-1 has no such country. Correct the code.');
    }
  }
}

/** The folders of the rail are on one file system, because a file is handed over by a rename. */
function faultOfFolder(path: string): string | undefined {
  try {
    const { dev } = statSync(path);
    if (!statSync(path).isDirectory()) return 'This is no folder. Name one that exists.';
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    const parts = ['out', 'ready', 'sent', 'in', 'done', 'refused'];
    const elsewhere = parts.find((name) => (statSync(join(path, name), { throwIfNoEntry: false })?.dev ?? dev) !== dev);
    return elsewhere && `Its folder ${elsewhere} is on another file system. Keep all of them on one.`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return `The folder cannot be used (${code}). Create it, so that this process may read and write there.`;
  }
}

/** The account of two networks: statements and deposits of it would be those of both. Files name it, so one of them has files. */
function checkShared(rails: readonly WrittenRail[], report: ReportMistake): void {
  const seen = new Map<string, WrittenRail>();
  for (const [index, rail] of rails.entries()) {
    for (const [place, { iban, id, currency }] of (rail.accounts ?? []).entries()) {
      const account = `${iban ?? id} ${currency}`;
      const other = seen.get(account);
      if (other && other !== rail && [other.kind, rail.kind].includes('iso20022')) {
        report(['rails', index, 'accounts', place], 'Another rail has this bank account. Name it in one of them.');
      }
      seen.set(account, other ?? rail);
    }
  }
}

function checkServed(
  { kind, accounts = [] }: WrittenRail,
  { countries = [], currencies = [] }: Served,
  place: number,
  report: ReportMistake,
): void {
  for (const [at, country] of countries.entries()) {
    if (countryOf(country)) continue;
    report(['serves', place, 'countries', at], 'ISO 3166-1 has no such country. Correct the code.');
  }
  for (const [at, currency] of currencies.entries()) {
    const path = ['serves', place, 'currencies', at];
    if (!isCurrencyCode(currency)) report(path, UNKNOWN_CURRENCY);
    else if (kind !== 'sandbox' && !accounts.some((account) => account.currency === currency)) {
      report(path, 'The rail has no account in this currency. Add one, or remove the currency.');
    }
  }
}

function checkAccount(
  { kind, accounts = [] }: WrittenRail,
  { currency, iban, id, bic, holderAddress }: WrittenAccount,
  place: number,
  report: ReportMistake,
): void {
  const path = ['accounts', place];
  if (!isCurrencyCode(currency)) report([...path, 'currency'], UNKNOWN_CURRENCY);
  if (accounts.slice(0, place).some((other) => other.currency === currency)) {
    report([...path, 'currency'], 'The rail has another account in this currency. Keep one of them.');
  }
  if ((iban === undefined) === (id === undefined)) {
    report(path, 'An account has either an iban or an id. Write one of them.');
  }
  if (iban !== undefined && !isValidIBAN(iban)) {
    report([...path, 'iban'], 'This is not an IBAN, or its check digits are wrong. Correct it.');
  }
  if (kind === 'http' && holderAddress) {
    report([...path, 'holderAddress'], `${KINDS[kind]} has no such setting. Remove it.`);
  }
  if (!isValidBIC(bic)) report([...path, 'bic'], 'This is not a BIC. Write its 8 or 11 characters.');
}

const UNKNOWN_CURRENCY = 'ISO 4217 has no such current currency. Correct the code.';

function faultOfUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return 'This is not a URL. Write one such as https://adapter.example/v1.';
  const { username, password, search, hash } = new URL(text);
  if (username !== '' || password !== '') return 'The URL has a login. Remove it, and put the token into tokenFile.';
  if (search !== '' || hash !== '') return 'The URL has a query or a fragment. Remove it.';
  if (!isTrustworthy(text)) return 'Use https (http only on a loopback address): over http, payments could be changed.';
  return undefined;
}

function faultOfToken(path: string): string | undefined {
  try {
    const isSendable = /^[ -~]+$/.test(readSecretFile(path));
    return isSendable
      ? undefined
      : 'The token has a character that a header of HTTP cannot carry. Use printable ASCII.';
  } catch (error) {
    if (!(error instanceof SecretFileError)) throw error;
    return `The file ${error.message}. Name a file with the bearer token in one line.`;
  }
}
