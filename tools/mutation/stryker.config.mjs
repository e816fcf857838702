import { availableParallelism } from 'node:os';
import { AREAS } from './areas.mjs';

const area = process.env.MUTATION_AREA;
const { files, specs } = AREAS[area];

export default {
  mutate: files,
  testRunner: 'jest',
  plugins: ['@stryker-mutator/jest-runner'],
  jest: {
    configFile: 'tools/mutation/project-config.cjs',
    config: specs && { testMatch: [...specs.map((spec) => `<rootDir>/src/${spec}`), '!**/*.prove.spec.ts'] },
    enableFindRelatedTests: specs === undefined,
  },
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
