const sources = (folder) => [
  `${folder}/**/*.ts`,
  `!${folder}/**/*.spec.ts`,
  `!${folder}/**/testing/**`,
  `!${folder}/**/index.ts`,
];

/** What is mutated, by the name of the area: the files, and the project whose tests must fail. */
export const AREAS = {
  amounts: { project: 'libs/domain', files: ['libs/domain/src/{amount,amount-refusal,convert}.ts'] },
  rates: { project: 'libs/rates', files: sources('libs/rates/src') },
  access: { project: 'apps/api', files: sources('apps/api/src/access') },
  idempotency: { project: 'libs/operations', files: sources('libs/operations/src/idempotency') },
  ledger: { project: 'libs/ledger', files: sources('libs/ledger/src') },
  payouts: { project: 'libs/payouts', files: sources('libs/payouts/src') },
};
