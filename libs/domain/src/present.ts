import type { CanonicalValue } from './canonical-json.js';

/** The members that are not undefined. */
export function present(
  members: Readonly<Record<string, CanonicalValue | undefined>>,
): Readonly<Record<string, CanonicalValue>> {
  const defined = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(defined) as Record<string, CanonicalValue>;
}
