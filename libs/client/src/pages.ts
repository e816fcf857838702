import type { Page } from '@banking/domain';
import { ServiceError } from './errors.js';

/**
 * Walks a list from page to page, newest first, and asks for a page when it has come to it. Each page has a deadline of
 * its own.
 *
 * @throws ServiceError for pages that lead in a circle, and what asking for one throws
 */
export async function* walk<T>(
  pageAt: (cursor: string | undefined) => Promise<Page<T>>,
  start?: string,
): AsyncGenerator<T, void, undefined> {
  let cursor = start;
  // That of the page 1, 2, 4, 8 …: in whatever circle the pages lead, one of them is met again (R. P. Brent, 1980).
  let met = start;
  for (let page = 1; page === 1 || cursor !== undefined; page += 1) {
    const { items, next } = await pageAt(cursor);
    for (const item of items) yield item;
    if (next !== undefined && next === met) {
      throw new ServiceError('The pages of the list lead in a circle.', { status: 200, body: '' });
    }
    cursor = next;
    if ((page & (page - 1)) === 0) met = next;
  }
}
