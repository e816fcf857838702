/** The default number of items in a page. */
export const LIMIT_DEFAULT = 100;

/** The maximum number of items in a page. A larger limit is refused and never reduced, because a short page looks like the last. */
export const LIMIT_MAX = 500;

/** Selects a page of a list, newest first by `createdAt`, then by id. */
export interface PageQuery {
  /** 1 to {@link LIMIT_MAX}; {@link LIMIT_DEFAULT} if it is omitted. */
  readonly limit?: number | undefined;
  /** The `next` of the previous page, for the same filters and workspace. */
  readonly cursor?: string | undefined;
}

/** A record with a page of one of its parts, such as an order with its executions. `next` is no field of the record. */
export type PagedRecord<T> = T & {
  /** The cursor of the next page; missing on the last. Opaque. */
  readonly next?: string;
};

/** A page of a list. Iteration never skips or repeats an item that existed when it began. */
export interface Page<T> {
  readonly items: readonly T[];
  /** The cursor of the next page; missing on the last. Opaque. */
  readonly next?: string;
}
