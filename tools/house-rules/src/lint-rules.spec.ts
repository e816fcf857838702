import { type Message, lint } from './lint.js';

const LIBRARY = 'libs/ledger/src/index.ts';
const UNDESCRIBED = 'house/described-directives';

const CASES: readonly { file: string; text: string; rules: readonly (string | null)[] }[] = [
  { file: LIBRARY, text: 'export const url = process.env.DATABASE_URL;', rules: ['no-restricted-properties'] },
  { file: LIBRARY, text: 'export const { env } = process;', rules: ['no-restricted-properties'] },
  { file: LIBRARY, text: `export { env } from 'node:process';`, rules: ['no-restricted-imports'] },
  { file: 'libs/postgres/src/testing/index.ts', text: 'export const url = process.env.DATABASE_URL;', rules: [] },
  { file: 'libs/domain/src/index.ts', text: `import 'node:fs';`, rules: ['no-restricted-imports'] },
  { file: 'libs/client/src/index.ts', text: `import 'crypto';`, rules: ['no-restricted-imports'] },
  { file: LIBRARY, text: 'Promise.resolve();', rules: ['@typescript-eslint/no-floating-promises'] },
  { file: LIBRARY, text: 'if (Promise.resolve()) { /* paid */ }', rules: ['@typescript-eslint/no-misused-promises'] },
  { file: LIBRARY, text: 'var a = 1; // eslint-disable-line\nexport { a };', rules: [UNDESCRIBED] },
  { file: LIBRARY, text: '/* eslint-disable */\nvar a = 1;\nexport { a };', rules: [UNDESCRIBED] },
  { file: LIBRARY, text: '/* eslint-disable no-var --\n */\nvar a = 1;\nexport { a };', rules: [UNDESCRIBED] },
  { file: LIBRARY, text: '/* eslint-disable no-var -- an example */\nvar a = 1;\nexport { a };', rules: [] },
  { file: LIBRARY, text: '// eslint-disable-next-line no-var -- no need\nexport const a = 1;', rules: [null] },
];

describe('Given the lint of this repository', () => {
  let messages: Message[][];

  beforeAll(() => {
    messages = lint(CASES).messages;
  }, 120_000);

  it.each(CASES.map((one, index) => ({ ...one, index })))(
    'When $file says `$text` Then it reports $rules',
    ({ rules, index }) => {
      expect(messages[index]?.map(({ ruleId }) => ruleId)).toEqual(rules);
    },
  );
});
