import type { Page } from '@banking/domain';
import { ServiceError } from './errors.js';

/**
 * Walks a list from page to page, newest first, and asks for a page when it has come to it. Each page has a deadline of
 * its own.
 *
 * @throws ServiceError for a page that leads back to itself, and what asking for one throws
 */
export async function* walk<T>(
  pageAt: (cursor: string | undefined) => Promise<Page<T>>,
  start?: string,
): AsyncGenerator<T, void, undefined> {
  let cursor = start;
  do {
    const { items, next } = await pageAt(cursor);
    for (const item of items) yield item;
    if (next !== undefined && next === cursor) {
      throw new ServiceError('A page of the list names itself as the next one.', { status: 200, body: '' });
    }
    cursor = next;
  } while (cursor !== undefined);
}
