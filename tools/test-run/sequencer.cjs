const { resolve, sep } = require('node:path');
const { default: Sequencer } = require('@jest/test-sequencer');

const APPS = resolve(__dirname, '../../apps') + sep;

/**
 * The longest specs first, so that all workers end together. Jest knows the durations of an earlier run; without one, those of apps are
 * the longest, because they start processes.
 */
module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    if (tests.every(({ duration }) => duration !== undefined)) return sorted;
    const isOfApp = ({ path }) => path.startsWith(APPS);
    return sorted.toSorted((one, other) => Number(isOfApp(other)) - Number(isOfApp(one)));
  }
};
