import { type CurrencyCode, inverse, type Rate, rateOf } from '@banking/domain';
import type { Source } from './source.js';

/** Invented rates, close to market rates, for demonstrations. */
export const DEMO_RATES_SOURCE: Source = { name: 'Demo rates of this project', date: '2026-11-21', kind: 'demo' };

/** A rate with its source, which marks it as demo. */
export interface DemoRate extends Rate {
  readonly source: Source;
}

/** Units of each currency for one US dollar. The currencies of all products and corridors are here. Rupees match the demo data. */
const PER_DOLLAR: Readonly<Partial<Record<CurrencyCode, string>>> = {
  AED: '3.6725',
  AUD: '1.53',
  BDT: '122',
  BHD: '0.376',
  BRL: '5.4',
  CAD: '1.39',
  CHF: '0.8',
  CLP: '940',
  CNY: '7.12',
  CZK: '21',
  DKK: '6.42',
  EGP: '47.5',
  EUR: '0.86',
  FJD: '2.27',
  GBP: '0.755',
  HKD: '7.78',
  HUF: '332',
  IDR: '16650',
  ILS: '3.27',
  INR: '83',
  ISK: '125',
  JOD: '0.709',
  JPY: '154',
  KES: '129',
  KRW: '1450',
  KWD: '0.307',
  LKR: '305',
  MXN: '18.4',
  MYR: '4.15',
  NGN: '1445',
  NOK: '10.1',
  NZD: '1.76',
  OMR: '0.3845',
  PHP: '58.8',
  PKR: '281',
  PLN: '3.65',
  QAR: '3.64',
  RON: '4.37',
  SAR: '3.75',
  SEK: '9.5',
  SGD: '1.3',
  THB: '32.4',
  TRY: '42.3',
  TWD: '31',
  USD: '1',
  VND: '26300',
  ZAR: '17.3',
};

/**
 * The demo rate between two currencies, derived from their dollar rates, as an exact fraction in lowest terms. So a rate
 * times its reverse is 1, and a rate equals the product of the rates through any third currency.
 *
 * Undefined if the table lacks a currency. There is no spread.
 */
export function demoRate(from: CurrencyCode, to: CurrencyCode): DemoRate | undefined {
  const [bought, sold] = [perDollar(from), perDollar(to)];
  if (bought === undefined || sold === undefined) return undefined;

  const dollars = inverse(bought);
  const numerator = dollars.numerator * sold.numerator;
  const denominator = dollars.denominator * sold.denominator;
  const common = greatestCommonDivisor(numerator, denominator);
  return { from, to, numerator: numerator / common, denominator: denominator / common, source: DEMO_RATES_SOURCE };
}

function perDollar(currency: CurrencyCode): Rate | undefined {
  const text = Object.hasOwn(PER_DOLLAR, currency) ? PER_DOLLAR[currency] : undefined;
  return text === undefined ? undefined : rateOf('USD', currency, text);
}

function greatestCommonDivisor(left: bigint, right: bigint): bigint {
  return right === 0n ? left : greatestCommonDivisor(right, left % right);
}
