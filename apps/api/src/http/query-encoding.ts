/**
 * Whether the query of a URL has percent-encoding that is not UTF-8, such as half of a surrogate pair, an overlong form or a `%` alone.
 * Fastify passes such a value on undecoded, as if it contained literal percent signs.
 */
export function hasBrokenQuery(url: string): boolean {
  const start = url.indexOf('?');
  if (start < 0 || !url.includes('%', start)) return false;
  try {
    decodeURIComponent(url.slice(start));
    return false;
  } catch {
    return true;
  }
}
