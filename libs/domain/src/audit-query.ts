import type { PlainNumber, UserId } from './ids.js';
import type { PageQuery } from './lists.js';

/** Filters of the audit trail. They are combined with AND. */
export interface AuditQuery extends PageQuery {
  /** The user who acted. */
  readonly actor?: UserId | PlainNumber | undefined;
  readonly operation?: string | undefined;
  /** Together with `resourceId`. */
  readonly resourceType?: string | undefined;
  readonly resourceId?: number | undefined;
  /** RFC 3339 with an offset, inclusive. */
  readonly from?: string | undefined;
  /** RFC 3339 with an offset, exclusive. */
  readonly to?: string | undefined;
}
