import type { Source } from './source.js';

/** Why money is sent, in the words of one provider. */
export interface PurposeEntry {
  /** Who understands the code: a rail of ours, by its name. */
  readonly provider: string;
  readonly code: string;
  readonly text: string;
}

/** The codes are the provider's; the short texts are ours. */
export const PURPOSES_SOURCE: Source = {
  name: 'Nium developer documentation, purpose of transfer codes',
  date: '2026-11-21',
  kind: 'public',
};

/**
 * Codes differ from provider to provider, so each row says whose it is. The sandbox rail takes three
 * of a published list; whoever connects a real rail adds that rail's own.
 */
export const PURPOSES: readonly PurposeEntry[] = [
  { provider: 'sandbox', code: 'IR001', text: 'Own account' },
  { provider: 'sandbox', code: 'IR002', text: 'Family maintenance' },
  { provider: 'sandbox', code: 'IR003', text: 'Education' },
];

/** A provider's codes with their texts, ready to be sent as JSON; empty for a provider without any. */
export function purposesOf(provider: string): Readonly<Record<string, string>> {
  const own = PURPOSES.filter((purpose) => purpose.provider === provider);
  return Object.fromEntries(own.map(({ code, text }) => [code, text]));
}
