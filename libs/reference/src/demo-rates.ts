import { type CurrencyCode, inverse, type Rate, rateOf } from '@banking/domain';
import type { Source } from './source.js';

/** Near enough to a market to be believed in a demonstration, and no market's. */
export const DEMO_RATES_SOURCE: Source = { name: 'Demo rates of this project', date: '2026-11-21', kind: 'demo' };

/** A rate that says itself that nobody deals at it. */
export interface DemoRate extends Rate {
  readonly source: Source;
}

/** What one US dollar costs. Every product and every corridor has its currency here. Rupees are as in the demo world. */
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
 * The demo rate between two currencies, by way of the dollar: an exact fraction in lowest terms, so there and back is
 * one, and a way round over a third currency is the straight way.
 *
 * Undefined where a currency is not in the table. Without spread: what is bought for is sold for.
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
