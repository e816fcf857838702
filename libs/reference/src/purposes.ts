import type { Source } from './source.js';

/** A purpose code of one provider. */
export interface PurposeEntry {
  /** The name of the rail that accepts the code. */
  readonly provider: string;
  readonly code: string;
  readonly text: string;
}

/** The codes are those of the provider. The short texts are our own. */
export const PURPOSES_SOURCE: Source = {
  name: 'Nium developer documentation, purpose of transfer codes',
  date: '2026-11-21',
  kind: 'public',
};

/**
 * Codes differ between providers, so each row names its provider. The sandbox rail accepts three codes of a published list.
 * Add the codes of a real rail here when you connect it.
 */
export const PURPOSES: readonly PurposeEntry[] = [
  { provider: 'sandbox', code: 'IR001', text: 'Own account' },
  { provider: 'sandbox', code: 'IR002', text: 'Family maintenance' },
  { provider: 'sandbox', code: 'IR003', text: 'Education' },
];

/** The texts of a provider's codes by code; empty for a provider without codes. */
export function purposesOf(provider: string): Readonly<Record<string, string>> {
  const own = PURPOSES.filter((purpose) => purpose.provider === provider);
  return Object.fromEntries(own.map(({ code, text }) => [code, text]));
}
