import { availableParallelism } from 'node:os';
import { AREAS } from './areas.mjs';

const area = process.env.MUTATION_AREA;

export default {
  mutate: AREAS[area].files,
  testRunner: 'jest',
  plugins: ['@stryker-mutator/jest-runner'],
  jest: { configFile: 'tools/mutation/project-config.cjs', enableFindRelatedTests: true },
  coverageAnalysis: 'perTest',
  concurrency: availableParallelism(),
  // A spec copies a database before its first test.
  timeoutMS: 60_000,
  tempDirName: 'tmp/mutation',
  ignorePatterns: ['dist', 'tmp', '.nx', '.data', 'tsconfig.tsbuildinfo'],
  reporters: ['clear-text', 'progress-append-only', 'json', 'html'],
  clearTextReporter: { allowColor: false, reportTests: false, allowEmojis: false },
  jsonReporter: { fileName: `tmp/mutation-${area}.json` },
  htmlReporter: { fileName: `tmp/mutation-${area}.html` },
  thresholds: { high: 95, low: 85, break: 85 },
};
