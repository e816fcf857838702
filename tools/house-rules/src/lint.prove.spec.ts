import { ALLOWED, BANNED, FORBIDDEN } from './boundary-cases.js';
import { lint, type Message } from './lint.js';
import { RULE_CASES } from './lint-cases.js';

const BOUNDARIES = '@nx/enforce-module-boundaries';

/** All cases are linted by one process: loading the configuration and the types of the projects takes most of the time. */
describe('eslint with the configuration of the repository', () => {
  let rules: Message[][];
  let forbidden: Message[][];
  let allowed: Message[][];

  beforeAll(() => {
    const imports = [...FORBIDDEN, ...ALLOWED].map(([file, text]) => ({ file, text }));
    const messages = lint([...RULE_CASES, ...imports]);
    rules = messages.slice(0, RULE_CASES.length);
    forbidden = messages.slice(RULE_CASES.length, RULE_CASES.length + FORBIDDEN.length);
    allowed = messages.slice(RULE_CASES.length + FORBIDDEN.length);
  });

  it.each(RULE_CASES.map((one, index) => ({ ...one, index })))('reports $rules for `$text` in $file', (one) => {
    expect(rules[one.index]?.map(({ ruleId }) => ruleId)).toEqual(one.rules);
  });

  it.each(FORBIDDEN.map(([file, text, kinds], index) => ({ file, text, kinds, index })))(
    'refuses `$text` in $file, for that reason only',
    ({ kinds, index }) => {
      const messages = forbidden[index] ?? [];

      expect(messages).not.toEqual([]);
      for (const message of messages) {
        expect(message).toMatchObject({ ruleId: BOUNDARIES, line: 1 });
        expect(kinds).toContain(message.messageId);
      }
      if (kinds === BANNED) expect(messages.map(({ messageId }) => messageId)).toContain(BANNED[0]);
    },
  );

  it.each(ALLOWED.map(([file, text], index) => ({ file, text, index })))('accepts `$text` in $file', ({ index }) => {
    expect(allowed[index]).toEqual([]);
  });
});
