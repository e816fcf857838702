/**
 * Whether a parsed JSON value contains a number above 2^53 - 1 or below -(2^53 - 1).
 *
 * `JSON.parse` silently reads 9007199254740993 as 9007199254740992. The original is lost, but both are out of range. The
 * loop does not recurse, because the sender decides how deep a response is nested.
 */
export function hasWideInteger(value: unknown): boolean {
  const holders: object[] = [[value]];
  for (const holder of holders) {
    // Without a list of the values: this loop sees every value of a response.
    for (const name in holder) {
      const inner = (holder as Readonly<Record<string, unknown>>)[name];
      if (typeof inner === 'number' && Math.abs(inner) > Number.MAX_SAFE_INTEGER) return true;
      if (typeof inner === 'object' && inner !== null) holders.push(inner);
    }
  }
  return false;
}
