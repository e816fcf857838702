/** The part of the global `expect` of Jest that is used here. */
const { expect } = globalThis as unknown as { readonly expect: { getState(): { readonly testPath?: string } } };

/**
 * What differs between `npm test` and `npm run prove`, such as the number of random runs: the latter is for a spec that a file
 * `*.prove.spec.ts` imports.
 */
export const testOrProve = <T>(test: T, prove: T): T =>
  expect.getState().testPath?.endsWith('.prove.spec.ts') ? prove : test;
