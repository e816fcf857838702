const sources = (folder) => [
  `${folder}/**/*.ts`,
  `!${folder}/**/*.spec.ts`,
  `!${folder}/**/testing/**`,
  `!${folder}/**/index.ts`,
];

/**
 * What is mutated, by the name of the area: the files, and the project whose tests must fail.
 *
 * `specs`, in the folder `src` of the project, are the tests that must notice a fault of the area. Each mutant loads all of them, so they
 * should take seconds. An area without `specs` runs all specs of its project that import the mutated file.
 */
export const AREAS = {
  amounts: { project: 'libs/domain', files: ['libs/domain/src/{amount,amount-refusal,convert}.ts'] },
  rates: { project: 'libs/reference', files: sources('libs/reference/src/rates') },
  access: {
    project: 'apps/api',
    files: sources('apps/api/src/access'),
    specs: ['access/*.spec.ts', 'config.spec.ts', 'docs/openapi.spec.ts'],
  },
  idempotency: {
    project: 'libs/operations',
    files: sources('libs/operations/src/idempotency'),
    specs: ['idempotency/*.spec.ts'],
  },
  // Where a fault books money wrongly. Most of what verifies books is left out: it is SQL, and its specs plant faults in the books.
  ledger: {
    project: 'libs/ledger',
    files: ['libs/ledger/src/{decide,books,post,proposal,return-entry,books-at}.ts'],
    specs: ['{books-at,concurrent-postings,decide,post,posting-kinds}.spec.ts'],
  },
  // Where a fault submits a payout twice, or moves its money.
  payouts: {
    project: 'libs/payouts',
    files: ['libs/payouts/src/{submit-payout,open-payouts,payout-stop,record-rail-events}.ts'],
    specs: ['{discrepancies,open-payouts,payout-batches,reconcile-payouts,record-rail-events,submit-payout}.spec.ts'],
  },
};
