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
  rates: { project: 'libs/rates', files: sources('libs/rates/src') },
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
    files: [
      'libs/ledger/src/{decide,decision-context,hash-of,prepare-posting,lock-and-read,write,post,proposal}.ts',
      'libs/ledger/src/{return-entry,own-accounts,books-at,verify-chain}.ts',
    ],
    specs: ['{books-at,decide,decision-context,lock-and-read,post,return-entry,verify-chain}.spec.ts'],
  },
  // Where a fault submits a payout twice, or moves its money.
  payouts: {
    project: 'libs/payouts',
    files: [
      'libs/payouts/src/{submit-payout,find-earlier-submission,payout-key,payout-stop,record-rail-event,decide-rail-events,begin-submitting}.ts',
    ],
    specs: [
      '{find-earlier-submission,payout-key-format,payout-stop,submission-limits,submit-payout}.spec.ts',
      '{discrepancies,open-payouts,record-rail-event}.spec.ts',
    ],
  },
};
