const nxPreset = require('@nx/jest/preset').default;

/** Packages published as ES modules only: Jest on Node 20 cannot require them untransformed. */
const ESM_ONLY = ['jose', 'oidc-provider', 'quick-lru', 'nanoid', 'eta', 'koa', 'dinero.js', 'oidc-token-hash'];

module.exports = {
  ...nxPreset,
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['@banking/source', 'node', 'require', 'default'] },
  // npm run prove asks for the others.
  testMatch: ['<rootDir>/src/**/*.spec.ts', '!**/*.{prove,long}.spec.ts'],
  // Ends a test that hangs, also on a machine that is many times slower and runs everything at once.
  testTimeout: 240_000,
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.[cm]?[tj]s$': [
      '@swc/jest',
      {
        swcrc: false,
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { decoratorMetadata: true, legacyDecorator: true, useDefineForClassFields: false },
          keepClassNames: true,
        },
        module: { type: 'commonjs' },
        sourceMaps: 'inline',
      },
    ],
  },
  transformIgnorePatterns: [`/node_modules/(?!(${ESM_ONLY.join('|')})/)`],
  reporters: ['default'],
};
