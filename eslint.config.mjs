import { builtinModules } from 'node:module';
import eslint from '@eslint/js';
import nx from '@nx/eslint-plugin';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';
import describedDirectives from './tools/house-rules/lint/described-directives.mjs';
import environmentInConfig from './tools/house-rules/lint/environment-in-config.mjs';
import exactMoney from './tools/house-rules/lint/exact-money.mjs';
import plainWords from './tools/house-rules/lint/plain-words.mjs';
import routesDeclareAccess from './tools/house-rules/lint/routes-declare-access.mjs';
import tellingNames from './tools/house-rules/lint/telling-names.mjs';
import { DEPENDENCY_FREE, PROJECTS } from './tools/house-rules/projects.mjs';

/** Packages for apps only: the HTTP framework and body validation. */
const FRAMEWORK = ['@nestjs/*', 'class-validator', 'class-transformer', 'nestjs-pino', 'fastify*', '@fastify/*'];

/** The log is made in libs/process; other libraries report through what their caller passes in. */
const bannedIn = (name) => (name === 'process' ? FRAMEWORK : [...FRAMEWORK, 'pino*']);

const moduleBoundaries = ({ specs }) => [
  'error',
  {
    banTransitiveDependencies: true,
    // A library an app loads late is no lazy bundle: a server has its files on disk.
    checkDynamicDependenciesExceptions: ['.*'],
    depConstraints: [
      ...Object.entries(PROJECTS).map(([name, { type, mayImport, specsMayImport = [] }]) => ({
        sourceTag: `scope:${name}`,
        onlyDependOnLibsWithTags: [...mayImport, ...(specs ? specsMayImport : [])].map((other) => `scope:${other}`),
        ...(type === 'lib' ? { bannedExternalImports: bannedIn(name) } : {}),
        ...(DEPENDENCY_FREE.includes(name) && !specs ? { allowedExternalImports: [] } : {}),
      })),
      { sourceTag: 'type:lib', onlyDependOnLibsWithTags: ['type:lib'] },
      { sourceTag: 'type:app', onlyDependOnLibsWithTags: ['type:lib'] },
      { sourceTag: 'type:tool', onlyDependOnLibsWithTags: ['type:lib'] },
    ],
  },
];

/** Rules of this repository. Their cases are in tools/house-rules/src/lint-cases.ts. */
const HOUSE_RULES = {
  'described-directives': describedDirectives,
  'environment-in-config': environmentInConfig,
  'exact-money': exactMoney,
  'plain-words': plainWords,
  'routes-declare-access': routesDeclareAccess,
  'telling-names': tellingNames,
};

const RUNS_ANYWHERE = 'This library runs in browsers too: use what every platform has.';

/** Folders whose times decide about money. */
const DATABASE_CLOCK_ONLY = [
  ...['ledger/src', 'work-queue/src', 'payouts/src', 'reference/src/rates', 'operations/src', 'books-proof/src'],
  'deployment/src',
];

const DATABASE_CLOCK = 'Times that decide come from the clock of the database: the clock of the process may be wrong.';

const nodeGlobals = Object.fromEntries(
  ['process', 'console', 'Buffer', 'URL', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'fetch'].map(
    (name) => [name, 'readonly'],
  ),
);

export default defineConfig(
  { ignores: ['**/dist', '**/test-output', '**/coverage', '**/node_modules', '.nx', '**/.data', 'tmp'] },

  eslint.configs.recommended,
  {
    plugins: { '@nx': nx, house: { rules: HOUSE_RULES } },
    linterOptions: { reportUnusedDisableDirectives: 'error', reportUnusedInlineConfigs: 'error' },
    rules: {
      'house/described-directives': 'error',
      'house/plain-words': 'error',
      'house/telling-names': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
    },
  },

  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommended],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@nx/enforce-module-boundaries': moduleBoundaries({ specs: false }),
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      // Without await, a failed write is lost and the caller is told that it succeeded.
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      '@typescript-eslint/only-throw-error': 'error',
      'house/environment-in-config': 'error',
      'house/exact-money': 'error',
      'house/routes-declare-access': 'error',
    },
  },
  {
    // Tests and tools hand their own environment on to the programs they start.
    files: ['**/config.ts', '**/*.spec.ts', '**/src/testing/**/*.ts', 'tools/**/*.ts'],
    rules: { 'house/environment-in-config': 'off' },
  },
  {
    // Here a balance becomes the JSON integer it travels as, after asking that it loses no digit.
    files: ['libs/domain/src/amount.ts'],
    rules: { 'house/exact-money': 'off' },
  },
  {
    files: DEPENDENCY_FREE.map((name) => `libs/${name}/src/**/*.ts`),
    ignores: ['**/*.spec.ts', '**/testing/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: builtinModules.map((name) => ({ name, message: RUNS_ANYWHERE })),
          patterns: [{ regex: '^node:', message: RUNS_ANYWHERE }],
        },
      ],
    },
  },
  {
    // Operations take rates from the RateSource they are given: what a deployment configures is not their decision.
    files: ['libs/operations/src/**/*.ts'],
    ignores: ['**/*.spec.ts', '**/testing/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: [
            { name: '@banking/reference', importNames: ['chooseRates'], message: 'Take a RateSource as an argument.' },
          ],
        },
      ],
    },
  },
  {
    files: DATABASE_CLOCK_ONLY.map((folder) => `libs/${folder}/**/*.ts`),
    ignores: ['**/*.spec.ts', '**/testing/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: DATABASE_CLOCK },
        { selector: "MemberExpression[object.name='Date'][property.name='now']", message: DATABASE_CLOCK },
      ],
    },
  },
  {
    files: ['**/*.spec.ts', '**/testing/**/*.ts'],
    rules: { '@nx/enforce-module-boundaries': moduleBoundaries({ specs: true }) },
  },

  {
    // The list of the words, and the cases that name them.
    files: ['tools/house-rules/lint/retired-words.mjs', 'tools/house-rules/src/{lint-cases,words.spec}.ts'],
    rules: { 'house/plain-words': 'off' },
  },

  { files: ['**/*.{js,mjs,cjs}'], languageOptions: { ecmaVersion: 2024, globals: nodeGlobals } },
  {
    files: ['**/*.cjs', 'jest.preset.js'],
    languageOptions: {
      sourceType: 'commonjs',
      globals: { require: 'readonly', module: 'writable', __dirname: 'readonly' },
    },
  },
);
