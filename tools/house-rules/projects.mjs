/**
 * Who may import whom: one row per project, by its tags `scope:<name>` and `type:<type>` in package.json.
 * Each arrow is used by an import of the project (boundaries.spec.ts); an arrow that is not listed is an error.
 *
 * `specsMayImport` is for specs and testing folders only. No project depends on one that depends on it, specs included:
 * Nx runs the tasks of a project after those of its dependencies.
 */
export const PROJECTS = {
  domain: { type: 'lib', mayImport: [] },
  client: { type: 'lib', mayImport: ['domain'] },
  process: { type: 'lib', mayImport: [] },
  'embedded-postgres': { type: 'lib', mayImport: ['process'] },
  postgres: { type: 'lib', mayImport: ['domain', 'embedded-postgres'] },
  schema: { type: 'lib', mayImport: [], specsMayImport: ['postgres'] },
  ledger: { type: 'lib', mayImport: ['domain', 'postgres'] },
  reference: { type: 'lib', mayImport: ['domain', 'process', 'postgres'] },
  'work-queue': { type: 'lib', mayImport: ['domain', 'postgres'] },
  payouts: { type: 'lib', mayImport: ['domain', 'postgres', 'ledger', 'work-queue'] },
  webhooks: { type: 'lib', mayImport: ['domain', 'client', 'process', 'postgres'] },
  rails: {
    type: 'lib',
    mayImport: ['domain', 'process', 'postgres', 'work-queue', 'payouts', 'reference'],
    specsMayImport: ['operations'],
  },
  operations: {
    type: 'lib',
    mayImport: ['domain', 'process', 'postgres', 'ledger', 'work-queue', 'payouts', 'webhooks', 'reference'],
  },
  'books-proof': {
    type: 'lib',
    mayImport: ['domain', 'postgres', 'ledger', 'operations'],
    specsMayImport: ['payouts'],
  },
  deployment: {
    type: 'lib',
    mayImport: [
      ...['domain', 'process', 'embedded-postgres', 'postgres', 'schema', 'ledger', 'payouts', 'operations'],
      ...['books-proof', 'reference'],
    ],
  },
  telemetry: {
    type: 'lib',
    mayImport: [
      'domain',
      'process',
      'postgres',
      'work-queue',
      'payouts',
      'webhooks',
      'reference',
      'operations',
      'rails',
    ],
  },
  api: {
    type: 'app',
    mayImport: [
      ...['domain', 'client', 'process', 'postgres', 'operations', 'rails', 'reference', 'deployment', 'telemetry'],
      'webhooks',
    ],
  },
  cli: {
    type: 'app',
    mayImport: [
      ...['domain', 'client', 'process', 'embedded-postgres', 'postgres', 'ledger', 'work-queue', 'payouts'],
      ...['rails', 'operations', 'books-proof', 'deployment', 'reference'],
    ],
  },
  worker: {
    type: 'app',
    mayImport: ['postgres', 'rails', 'operations', 'webhooks', 'reference', 'deployment', 'process', 'telemetry'],
    specsMayImport: ['embedded-postgres'],
  },
  'api-e2e': { type: 'app', mayImport: ['domain', 'client', 'process', 'embedded-postgres', 'postgres'] },
  'house-rules': { type: 'tool', mayImport: [] },
  packages: { type: 'tool', mayImport: [] },
  bench: {
    type: 'tool',
    mayImport: [
      ...['domain', 'client', 'process', 'embedded-postgres', 'postgres', 'ledger', 'operations', 'books-proof'],
      'deployment',
    ],
  },
  // Judges the service from outside, so it imports nothing that decides about money.
  faults: { type: 'tool', mayImport: ['domain', 'process', 'embedded-postgres'] },
};

/** Published and without dependencies, so that any team can install them anywhere, browsers included. Their specs may use more. */
export const DEPENDENCY_FREE = ['domain', 'client'];

/** Folders whose other code must not know some folders, by their path from the top of the workspace. */
export const FORBIDDEN_FOLDERS = {
  // The server, errors and request ids work alike for every caller and for both implementations of the port.
  'apps/api/src/http': ['apps/api/src/access', 'apps/api/src/gateway'],
  // A deployment with real money contains no demo data.
  'libs/operations/src': ['libs/operations/src/demo'],
};
