import { shareTime, type Timed } from './share-time.js';

const LIMITS: Timed = { name: 'limits', phase: 'alone', minutesMax: 10 };
const CRASHES: Timed = { name: 'crashes', phase: 'other', minutesMax: 4 };
const KEYS: Timed = { name: 'keys', phase: 'other', minutesMax: 12 };
const SOAK: Timed = { name: 'soak', phase: 'soak', minutesMax: 30 };
const ALL = [LIMITS, CRASHES, KEYS, SOAK];

const minutesOf = (ms: number) => Math.round(ms / 600) / 100;

describe('time of a scenario', () => {
  it('fits the scenarios into the total, with the soak beside the others', () => {
    let now = 0;
    const limits = shareTime(ALL, 60, () => now);

    const alone = minutesOf(limits(LIMITS));
    now += (alone + 0.5) * 60_000;
    const soak = minutesOf(limits(SOAK));
    const crashes = minutesOf(limits(CRASHES));
    now += (crashes + 0.5) * 60_000;
    const keys = minutesOf(limits(KEYS));

    expect(alone + 0.5 + soak + 0.5).toBeCloseTo(60, 1);
    expect(alone + 0.5 + crashes + 0.5 + keys + 0.5).toBeCloseTo(60, 1);
    expect(soak).toBeGreaterThan(30);
    expect(keys / crashes).toBeCloseTo(3, 1);
  });

  it('leaves the time that a scenario did not use to those after it', () => {
    let now = 0;
    const limits = shareTime([CRASHES, KEYS], 17, () => now);

    expect(minutesOf(limits(CRASHES))).toBe(4);
    now += 60_000;
    expect(minutesOf(limits(KEYS))).toBe(15.5);
  });

  it('is at most twice the time it needs without a number of minutes', () => {
    expect(minutesOf(shareTime([CRASHES], undefined)(CRASHES))).toBe(8);
    expect(minutesOf(shareTime([SOAK], undefined)(SOAK))).toBe(59.5);
  });

  it('is the share of load and faults alone in a short run', () => {
    let now = 0;
    const limits = shareTime([CRASHES, KEYS], 0.4, () => now);

    expect(minutesOf(limits(CRASHES))).toBe(0.1);
    now += 120_000;
    expect(minutesOf(limits(KEYS))).toBe(0.3);
  });
});
