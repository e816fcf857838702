import { builtinModules } from 'node:module';
import eslint from '@eslint/js';
import nx from '@nx/eslint-plugin';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';
import describedDirectives from './tools/house-rules/lint/described-directives.mjs';
import environmentInConfig from './tools/house-rules/lint/environment-in-config.mjs';
import exactMoney from './tools/house-rules/lint/exact-money.mjs';
import routesDeclareAccess from './tools/house-rules/lint/routes-declare-access.mjs';
import tellingNames from './tools/house-rules/lint/telling-names.mjs';

/**
 * Who may import whom: one row per project, which carries the tag `room:<name>` in its package.json.
 * Arrows run right or down, never back; a room that is not listed may not be imported.
 */
const ROOMS = {
  domain: [],
  client: ['domain'],
  process: [],
  postgres: ['domain'],
  ledger: ['domain', 'postgres'],
  reference: ['domain'],
  payouts: ['domain', 'postgres', 'ledger'],
  operations: ['domain', 'process', 'postgres', 'ledger', 'payouts', 'reference'],
  'local-issuer': ['domain'],
  api: ['domain', 'client', 'postgres', 'operations', 'local-issuer', 'process'],
  cli: ['domain', 'client', 'postgres', 'operations', 'ledger', 'payouts', 'local-issuer', 'process'],
  worker: ['postgres', 'operations', 'process'],
  'api-e2e': ['domain', 'client', 'postgres', 'local-issuer', 'reference'],
  'house-rules': [],
  packages: [],
  bench: ['domain', 'client', 'postgres', 'ledger', 'operations', 'local-issuer'],
};

const APPS = ['api', 'cli', 'worker', 'api-e2e', 'bench'];

/** Published and dependency-free, so that any team can install them anywhere, browsers included. Their specs may use more. */
const DEPENDENCY_FREE = ['domain', 'client'];

/** What only an app may know: how we are served, how a body is checked, where a log line goes. */
const FRAMEWORK = [
  '@nestjs/*',
  'class-validator',
  'class-transformer',
  'pino*',
  'nestjs-pino',
  'fastify*',
  '@fastify/*',
];

const moduleBoundaries = ({ specs }) => [
  'error',
  {
    banTransitiveDependencies: true,
    // A library an app loads late is no lazy bundle: a server has its files on disk.
    checkDynamicDependenciesExceptions: ['.*'],
    depConstraints: Object.entries(ROOMS).map(([room, mayImport]) => ({
      sourceTag: `room:${room}`,
      onlyDependOnLibsWithTags: mayImport.map((name) => `room:${name}`),
      ...(APPS.includes(room) ? {} : { bannedExternalImports: FRAMEWORK }),
      ...(DEPENDENCY_FREE.includes(room) && !specs ? { allowedExternalImports: [] } : {}),
    })),
  },
];

/** Our own rules. Each has its cases in tools/house-rules/src/lint-rules.spec.ts. */
const HOUSE_RULES = {
  'described-directives': describedDirectives,
  'environment-in-config': environmentInConfig,
  'exact-money': exactMoney,
  'routes-declare-access': routesDeclareAccess,
  'telling-names': tellingNames,
};

const RUNS_ANYWHERE = 'This library runs in browsers too: use what every platform has.';

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
      // A promise nobody waits for is money nobody knows the fate of.
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
    files: ['**/config.ts', '**/*.spec.ts', 'libs/postgres/src/testing/**/*.ts', 'tools/**/*.ts'],
    rules: { 'house/environment-in-config': 'off' },
  },
  {
    // Here a balance becomes the JSON integer it travels as, after asking that it loses no digit.
    files: ['libs/domain/src/amount.ts'],
    rules: { 'house/exact-money': 'off' },
  },
  {
    files: DEPENDENCY_FREE.map((room) => `libs/${room}/src/**/*.ts`),
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
    files: ['ledger', 'payouts', 'operations'].map((room) => `libs/${room}/src/**/*.ts`),
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
    files: ['**/*.spec.ts'],
    rules: { '@nx/enforce-module-boundaries': moduleBoundaries({ specs: true }) },
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
