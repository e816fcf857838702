/** What differs between `npm test` and `npm run prove`, such as the number of random runs. The latter runs each spec that calls this. */
export const testOrProve = <T>(test: T, prove: T): T => (process.env['BANKING_TEST_IN_FULL'] === 'on' ? prove : test);
