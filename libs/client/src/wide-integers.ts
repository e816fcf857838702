const TOKEN = /"|-?[0-9][0-9.eE+-]*/g;

/**
 * Whether a valid JSON text holds a number beyond 2^53 - 1 either way, outside its strings.
 *
 * `JSON.parse` reads such a number as another one and says nothing. It must be asked of the text, because afterwards
 * 9007199254740993 can no longer be told from 9007199254740992.
 */
export function hasWideInteger(json: string): boolean {
  const token = new RegExp(TOKEN);
  for (let found = token.exec(json); found !== null; found = token.exec(json)) {
    if (found[0] === '"') token.lastIndex = endOfString(json, token.lastIndex);
    else if (Math.abs(Number(found[0])) > Number.MAX_SAFE_INTEGER) return true;
  }
  return false;
}

/** Walks and does not match: a pattern for a whole string overflows the stack on a long one full of escapes. */
function endOfString(json: string, start: number): number {
  let at = start;
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at + 1;
}
