/** A JSON string, with the colon after it if the string is the name of a member. Takes linear time. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"\s*(:)?/g;

/**
 * Whether an object of a JSON text contains a member twice, at any depth. Parsers use either of the two values
 * (RFC 8259, section 4).
 *
 * `JSON.parse` keeps one member of each name. So the text repeats a name if it has more names than the value has members, however the
 * names are escaped.
 *
 * @param text well-formed JSON
 * @param value what `JSON.parse` returns for that text
 */
export function hasRepeatedMember(text: string, value: unknown): boolean {
  return nameCount(text) !== memberCount(value);
}

function nameCount(text: string): number {
  let count = 0;
  for (const [, colon] of text.matchAll(STRING)) if (colon !== undefined) count += 1;
  return count;
}

function memberCount(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner: unknown[] = Object.values(value);
  return inner.reduce<number>((count, one) => count + memberCount(one), Array.isArray(value) ? 0 : inner.length);
}
