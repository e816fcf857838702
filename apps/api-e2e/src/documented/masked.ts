const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,9}Z$/;
const DAY = /^\d{4}-\d\d-\d\d$/;
const HASH = /^[0-9a-f]{64}$/;
/** Account codes are random, except for those of the demo data. */
const NEW_CODE = /^BA\d{16}$/;
/** A secret is shown once, and not in a replay. */
const SHOWN_ONCE = ['secret'];
/** A worker may have attempted a delivery meanwhile. */
const ATTEMPTED = ['status', 'attempts', 'nextAttemptAt', 'lastAttempt'];
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * A response without the parts that differ between two databases with demo data: times, the age of due work, the hashes, which cover the
 * day, the codes of new accounts, new keys, the ids of tracking events, which a worker adds too, and the request id. Each is replaced by its
 * format, and is not replaced if it does not have that format. The attempts of a delivery and secrets are left out.
 */
export function masked(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => masked(item));
  if (typeof value === 'object' && value !== null) {
    const leftOut = 'eventType' in value ? ATTEMPTED : SHOWN_ONCE;
    const shown = Object.entries(value).filter(([name]) => !leftOut.includes(name));
    const isTrackingEvent = 'reasonCode' in value && 'lastUpdatedAt' in value;
    return Object.fromEntries(
      shown.map(([name, inner]) => [name, masked(inner, isTrackingEvent && name === 'id' ? 'trackingEventId' : name)]),
    );
  }
  if (key === 'trackingEventId' && Number.isInteger(value)) return 'an id';
  if (typeof value !== 'string') return value;
  if (
    /^(createdAt|updatedAt|lastUpdatedAt|expiresAt|scheduledAt|executedAt|nextAttemptAt)$/.test(key) &&
    TIME.test(value)
  )
    return 'a time';
  if (key === 'valueDate' && DAY.test(value)) return 'a day';
  if (key === 'hash' && HASH.test(value)) return 'a hash';
  if (key === 'code' && NEW_CODE.test(value)) return 'a new account code';
  if (/^requestI[dD]$/.test(key) && UUID.test(value)) return 'a request id';
  return value;
}
