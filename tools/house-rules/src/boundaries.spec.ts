import { type Constraint, type Message, lint } from './lint.js';
import { projects } from './workspace.js';

const BOUNDARIES = '@nx/enforce-module-boundaries';

/** An arrow in the wrong direction is called a circle when the right one is there already. */
const WRONG_ARROW = ['onlyTagsConstraintViolation', 'emptyOnlyTagsConstraintViolation', 'noCircularDependencies'];
const BANNED = ['bannedExternalImportsViolation', 'noTransitiveDependencies'];

const FORBIDDEN: readonly [file: string, text: string, kinds: readonly string[]][] = [
  ['libs/domain/src/index.ts', `import '@banking/client';`, WRONG_ARROW],
  ['libs/domain/src/index.ts', `import type {} from '@banking/postgres';`, WRONG_ARROW],
  ['libs/client/src/index.ts', `import '@banking/operations';`, WRONG_ARROW],
  ['libs/ledger/src/index.ts', `import '@banking/operations';`, WRONG_ARROW],
  ['libs/ledger/src/index.ts', `import '@banking/reference';`, ['onlyTagsConstraintViolation']],
  ['libs/ledger/src/index.ts', `import '@banking/payouts';`, WRONG_ARROW],
  ['libs/payouts/src/index.ts', `import '@banking/operations';`, WRONG_ARROW],
  ['libs/payouts/src/index.ts', `import '@nestjs/common';`, BANNED],
  ['apps/api/src/main.ts', `import '@banking/ledger';`, ['onlyTagsConstraintViolation']],
  [
    'libs/ledger/src/index.ts',
    `import '../../reference/src/index.js';`,
    ['noRelativeOrAbsoluteImportsAcrossLibraries'],
  ],
  ['libs/operations/src/index.ts', `import '@nestjs/common';`, BANNED],
  ['libs/postgres/src/index.ts', `import 'pino';`, BANNED],
  ['libs/domain/src/index.ts', `import 'jose';`, BANNED],
  ['libs/client/src/index.ts', `import 'fastify';`, BANNED],
  ['apps/cli/src/main.ts', `import 'fastify';`, ['noTransitiveDependencies']],
];

const ALLOWED: readonly [file: string, text: string][] = [
  ['libs/operations/src/index.ts', `import '@banking/ledger';\nimport '@banking/domain';`],
  ['apps/api/src/main.ts', `import '@nestjs/common';\nimport '@banking/operations';`],
];

describe('Given the boundaries between rooms', () => {
  let constraints: Constraint[];
  let forbidden: Message[][];
  let allowed: Message[][];

  beforeAll(() => {
    const cases = [...FORBIDDEN, ...ALLOWED].map(([file, text]) => ({ file, text: `${text}\n` }));
    const answer = lint(cases);
    constraints = answer.constraints;
    forbidden = answer.messages.slice(0, FORBIDDEN.length);
    allowed = answer.messages.slice(FORBIDDEN.length);
  }, 120_000);

  it.each(FORBIDDEN.map(([file, text, kinds], index) => ({ file, text, kinds, index })))(
    'When $file says `$text` Then the lint refuses it, and for that reason only',
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

  it.each(ALLOWED.map(([file, text], index) => ({ file, text, index })))(
    'When $file says `$text` Then the lint agrees',
    ({ index }) => {
      expect(allowed[index]).toEqual([]);
    },
  );

  it.each(projects())('When $folder is in the workspace Then it has one room and the table has its row', (project) => {
    const rooms = project.manifest.nx?.tags?.filter((tag) => tag.startsWith('room:'));

    expect(rooms).toEqual([`room:${project.folder.split('/')[1]}`]);
    expect(constraints.map(({ sourceTag }) => sourceTag)).toContain(rooms?.[0]);
  });

  it('When a row is in the table Then it and all it names are rooms of the workspace', () => {
    const rooms = projects().map(({ folder }) => `room:${folder.split('/')[1]}`);

    const named = constraints.flatMap((row) => [row.sourceTag, ...row.onlyDependOnLibsWithTags]);

    expect(named.filter((room) => !rooms.includes(room))).toEqual([]);
  });
});
