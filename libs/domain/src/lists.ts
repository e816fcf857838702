/** How many items a page holds when nothing is said. */
export const LIMIT_DEFAULT = 100;

/** How many it holds at most. More is refused, never cut down: a caller who got fewer could take them for all. */
export const LIMIT_MAX = 500;

/** Which part of a list is wanted, newest first by `createdAt`, then by id. */
export interface PageQuery {
  /** 1 to {@link LIMIT_MAX}; {@link LIMIT_DEFAULT} when left out. */
  readonly limit?: number | undefined;
  /** Where the page before ended: its `next`, with the same filters and the same workspace. */
  readonly cursor?: string | undefined;
}

/** A part of a list. Walking from page to page never skips or repeats what was there when the walk began. */
export interface Page<T> {
  readonly items: readonly T[];
  /** The cursor of the page behind this one; missing on the last. Opaque. */
  readonly next?: string;
}
