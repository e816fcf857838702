import * as iso from 'i18n-iso-countries/index.js';
import * as english from 'i18n-iso-countries/langs/en.json';
import type { Source } from './source.js';

/** An officially assigned country of ISO 3166-1, with its English name. */
export interface Country {
  readonly alpha2: string;
  readonly alpha3: string;
  readonly name: string;
}

export const COUNTRIES_SOURCE: Source = {
  name: 'ISO 3166-1, officially assigned codes, by way of i18n-iso-countries 7.14.0',
  date: '2026-11-21',
  kind: 'public',
};

/**
 * The codes that ISO 3166-1 leaves to its users: AA, QM to QZ, XA to XZ, ZZ.
 *
 * The package lists XK, a user-assigned code that many banks use for Kosovo. XK is not a country here, because no corridor
 * leads there and its alpha-3 form is not agreed. A corridor to Kosovo would be a reason to change this.
 */
const USER_ASSIGNED = /^(AA|Q[M-Z]|X[A-Z]|ZZ)$/;

/** Two or three ASCII letters. Without the `i` and `u` flags, so that no other letter folds into one. */
const CODE = /^[A-Za-z]{2,3}$/;

iso.registerLocale(english);

/** Every officially assigned country, in the order of its alpha-2 code. */
export const COUNTRIES: readonly Country[] = Object.entries(iso.getAlpha2Codes())
  .filter(([alpha2]) => !USER_ASSIGNED.test(alpha2))
  .map(([alpha2, alpha3]) => ({ alpha2, alpha3, name: nameOf(alpha2) }))
  .sort((one, other) => (one.alpha2 < other.alpha2 ? -1 : 1));

const byCode = new Map(
  COUNTRIES.flatMap((country) => [
    [country.alpha2, country],
    [country.alpha3, country],
  ]),
);

/**
 * The country that a text names by its alpha-2 or alpha-3 code, in any ASCII case: `in`, `IN`, `Ind`.
 *
 * Undefined for any other text: numeric codes, names, flags, full-width letters, surrounding spaces, and codes that are only
 * reserved or user-assigned, such as EU, UK, XK and ZZ. Never throws.
 */
export function countryOf(text: string): Country | undefined {
  return CODE.test(text) ? byCode.get(text.toUpperCase()) : undefined;
}

function nameOf(alpha2: string): string {
  const name = iso.getName(alpha2, 'en');
  if (name === undefined) throw new Error(`no English name for the country ${alpha2}`);
  return name;
}
