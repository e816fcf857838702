import type { Page } from '@banking/domain';
import { ServiceError } from './errors.js';

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

/**
 * Iterates over a list, newest first. It requests a page when the iteration reaches it. Each page has its own deadline.
 *
 * @throws ServiceError if the cursors form a cycle, and the errors of the requests
 */
export async function* iteratePages<T>(
  pageAt: (cursor: string | undefined) => Promise<Page<T>>,
  start?: string,
): AsyncGenerator<T, void, undefined> {
  let cursor = start;
  // The cursor of page 1, 2, 4, 8 …: every cycle reaches one of them again (cycle detection of R. P. Brent, 1980).
  let checkpoint = start;
  for (let page = 1; page === 1 || cursor !== undefined; page += 1) {
    const { items, next } = await pageAt(cursor);
    for (const item of items) yield item;
    if (next !== undefined && next === checkpoint) {
      throw new ServiceError('The cursors of the list form a cycle.', { status: 200, body: '' });
    }
    cursor = next;
    if ((page & (page - 1)) === 0) checkpoint = next;
  }
}
