import { randomOf } from './random.js';

const numbers = (seed: number) => {
  const random = randomOf(seed);
  return Array.from({ length: 20 }, () => random.below(1_000_000));
};

describe('random numbers', () => {
  it('repeat for the same seed, and differ for another', () => {
    expect(numbers(7)).toEqual(numbers(7));
    expect(numbers(7)).not.toEqual(numbers(8));
  });

  it('stay between the bounds, and reach both', () => {
    const random = randomOf(1);
    const drawn = Array.from({ length: 1_000 }, () => random.between(3, 6));

    expect([...new Set(drawn)].sort()).toEqual([3, 4, 5, 6]);
  });

  it('of a fork depend on seed and name, not on the numbers drawn before', () => {
    const used = randomOf(7);
    used.below(10);

    expect(used.fork('client 1').below(1_000_000)).toBe(randomOf(7).fork('client 1').below(1_000_000));
    expect(used.fork('client 1').below(1_000_000)).not.toBe(used.fork('client 2').below(1_000_000));
    expect(used.fork('client 1').below(1_000_000)).not.toBe(randomOf(8).fork('client 1').below(1_000_000));
  });

  it('cannot choose from nothing', () => {
    expect(() => randomOf(1).pick([])).toThrow('nothing to choose from');
  });
});
