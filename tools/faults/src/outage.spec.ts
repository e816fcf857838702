import { judge } from './outage.js';

const GONE = 10_000;
const BACK = 20_000;

/** The health of a process at these times, with readiness lost and found as in the cases. */
const probes = (lostAfter: number, foundAfter: number, live = 200) =>
  Array.from({ length: 300 }, (_, index) => {
    const at = index * 100;
    const isReady = at < GONE + lostAfter || at >= BACK + foundAfter;
    return { at, ready: isReady ? 200 : 503, live };
  });

describe('readiness in an outage', () => {
  it('is as promised when it is lost and found in time', () => {
    expect(judge('api-0', probes(1_900, 4_900), GONE, BACK)).toEqual([]);
  });

  it.each([
    ['was ready 2000 ms after', probes(2_500, 100)],
    ['was not ready 5000 ms after', probes(100, 5_500)],
    ['was not alive', probes(100, 100, 503)],
    ['did not respond to its health checks', []],
  ])('is a violation: %s', (detail, found) => {
    expect(judge('api-0', found, GONE, BACK)).toEqual([
      { check: 'readiness', detail: expect.stringContaining(detail) },
    ]);
  });
});
