import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { minorUnits } from '@banking/domain';
import type { Payment } from '@banking/payouts';
import { type BankDialect, type FileRailConfig, PAYMENT_MESSAGES } from '../rail-config.js';

/** A bank with files in a folder of its own. */
export function fileRailConfig(dialect: Partial<BankDialect> = {}, more: Partial<FileRailConfig> = {}): FileRailConfig {
  return {
    ...{ name: 'bank-a', kind: 'iso20022', isTestMode: true, dialect },
    folder: mkdtempSync(join(tmpdir(), 'bank-')),
    accounts: [
      { currency: 'EUR', id: 'DE89370400440532013000', isIban: true, bic: 'COBADEFFXXX', holder: 'Harbour Ltd' },
      { currency: 'USD', id: '12345678', isIban: false, bic: 'CITIUS33', holder: 'Harbour Ltd' },
      { currency: 'JPY', id: '0099887', isIban: false, bic: 'BOTKJPJT', holder: 'Harbour Ltd' },
      { currency: 'KWD', id: '7700', isIban: false, bic: 'NBOKKWKW', holder: 'Harbour Ltd' },
    ],
    ...more,
  };
}

/** A payment in euros within the SEPA area, by its number. */
export const filePayment = (number: number, more: Partial<Payment> = {}): Payment => ({
  ...{ key: `payout-7-${number}-0123456789ab`, amount: minorUnits(12_345n), currency: 'EUR' },
  creditor: { name: 'Ravi Menon', account: 'DE75512108001245126199', routing: { type: 'SWIFT', code: 'SOGEDEFF' } },
  description: `Invoice ${number}`,
  ...more,
});

/** The files of a folder, by name. */
export function filesIn({ folder }: Pick<FileRailConfig, 'folder'>, name: string): ReadonlyMap<string, string> {
  const path = join(folder, name);
  return new Map(
    readdirSync(path)
      .sort()
      .map((file) => [file, readFileSync(join(path, file), 'utf8')]),
  );
}

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.constantFrom('<&>"', 'Grün_Weiß', "O'Neill"),
);

const anyPayment = (number: number): fc.Arbitrary<Payment> =>
  fc.record({
    key: fc.constant(`payout-3-${number + 1}-0123456789ab`),
    amount: fc.bigInt({ min: 1n, max: 10n ** 13n }).map(minorUnits),
    currency: fc.constantFrom('EUR', 'USD', 'JPY', 'KWD'),
    creditor: fc.record({
      name: fc.oneof(anyText, fc.constant('Ravi Menon')),
      account: fc.constantFrom('DE75512108001245126199', 'AE070331234567890123456', '12-34 56', 'ravi@example.in'),
      routing: fc.constantFrom(
        undefined,
        { type: 'SWIFT', code: 'SOGEDEFF' },
        { type: 'SWIFT', code: 'SOGEDEFFXXX' },
        { type: 'ACH CODE', code: '021000021' },
        { type: 'BANK CODE', code: '970436' },
      ),
      address: fc.option(anyText, { nil: undefined }),
      country: fc.constantFrom(undefined, 'DE', 'IN'),
      postalAddress: fc.option(
        fc.record({ streetName: anyText, buildingNumber: anyText, postCode: anyText, townName: anyText }),
        { nil: undefined },
      ),
    }),
    description: fc.option(fc.oneof(anyText, fc.constant('RF18539007547034')), { nil: undefined }),
    purpose: fc.constantFrom(undefined, 'SALA', 'IR001'),
  });

/** Payments that differ in everything; of some, a file can carry none. */
export const anyPayments = fc
  .integer({ min: 1, max: 12 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, number) => anyPayment(number))));

export const anyDialect: fc.Arbitrary<BankDialect> = fc.record({
  ...{ holidays: fc.constant({}), closeAfterSeconds: fc.constant(1), paymentsMax: fc.constant(1) },
  message: fc.constantFrom(...PAYMENT_MESSAGES),
  cutOff: fc.constantFrom({ time: '15:30', timeZone: 'Europe/Berlin' }, { time: '01:00', timeZone: 'Asia/Tokyo' }),
  bicRequired: fc.boolean(),
  batchBooking: fc.constantFrom(undefined, true, false),
  addressForm: fc.constantFrom('structured', 'hybrid'),
  creationTime: fc.constantFrom('offset', 'utc', 'local'),
});
