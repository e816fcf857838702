/**
 * Whether a value that was read from JSON holds a number beyond 2^53 - 1 either way.
 *
 * `JSON.parse` reads 9007199254740993 as 9007199254740992 and says nothing. Which of them was meant cannot be told
 * afterwards, but both are beyond. It walks without calling itself: how deep an answer is nested is up to who sends it.
 */
export function hasWideInteger(value: unknown): boolean {
  const holders: object[] = [[value]];
  for (const holder of holders) {
    for (const inner of Object.values(holder) as unknown[]) {
      if (typeof inner === 'number' && Math.abs(inner) > Number.MAX_SAFE_INTEGER) return true;
      if (typeof inner === 'object' && inner !== null) holders.push(inner);
    }
  }
  return false;
}
