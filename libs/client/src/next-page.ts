const LINK = /<([^<>]*)>((?:\s*;\s*[^\s;,=]+(?:\s*=(?:\s*(?:"[^"]*"|[^\s;,"]+))?)?)*)/g;
const REL = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]*))/i;

/**
 * The cursor of the next page, from the target with the relation `next` in the `Link` header (RFC 8288).
 *
 * @returns `undefined` on the last page; `null` for a next page without a cursor, which cannot be requested.
 */
export function nextCursor(link: string | null): string | null | undefined {
  for (const [, target = '', parameters = ''] of (link ?? '').matchAll(LINK)) {
    const [, quoted, bare] = REL.exec(parameters) ?? [];
    const relations = (quoted ?? bare ?? '').toLowerCase().split(/\s+/);
    if (!relations.includes('next')) continue;
    const query = target.split('#', 1)[0]?.split('?')[1];
    return new URLSearchParams(query).get('cursor');
  }
  return undefined;
}
