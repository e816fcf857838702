import { isShownByPrimary, positionOf } from './replica-reads.js';

const position = (snapshot: string) => positionOf({ lsn: '0/1', timeline: '00000001', snapshot }).snapshot;

/** Transactions 3 and 7 were unfinished when the read began, and 10 was the next id. */
const before = position('3:10:3,7');
const seen = (xmax: bigint, ...finished: bigint[]) => ({ xmax, finished });

describe('what a replica has shown', () => {
  it.each([
    ['nothing newer', before, seen(10n)],
    ['less than the primary', before, seen(8n)],
    ['a commit that the primary shows now', position('3:10:3'), seen(10n, 7n)],
    ['a new commit that the primary shows now', position('3:12:3,7'), seen(12n)],
    ['what began after the last commit of the replica', position('3:14:3,7,12'), seen(12n)],
  ])('is shown by the primary if it is %s', (_, now, shown) => {
    expect(isShownByPrimary(now, before, shown)).toBe(true);
  });

  it.each([
    ['finished on the replica and not on the primary', before, seen(10n, 7n)],
    ['newer than the newest of the primary', before, seen(11n)],
    ['newer than the read, and unfinished on the primary', position('3:12:3,7,11'), seen(12n)],
  ])('is not shown by the primary if a transaction is %s', (_, now, shown) => {
    expect(isShownByPrimary(now, before, shown)).toBe(false);
  });

  it('is compared with a snapshot without unfinished transactions', () => {
    expect(position('10:10:')).toEqual({ xmax: 10n, unfinished: [] });
  });
});
