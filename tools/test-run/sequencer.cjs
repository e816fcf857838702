const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * The longest specs first, so that all workers end together. Jest knows the durations of an earlier run; without one, a
 * project that gives its tests more time has the longer specs.
 */
module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    if (tests.every(({ duration }) => duration !== undefined)) return sorted;
    const timeout = ({ context }) => context.config.testTimeout ?? 0;
    return sorted.toSorted((one, other) => timeout(other) - timeout(one));
  }
};
