/** An arrow against the direction is reported as a circle when the allowed arrow is in use. */
const WRONG_ARROW = ['onlyTagsConstraintViolation', 'emptyOnlyTagsConstraintViolation', 'noCircularDependencies'];
export const BANNED = ['bannedExternalImportsViolation', 'noTransitiveDependencies'];

/** Imports that the boundaries refuse, with the messages that may be reported. */
export const FORBIDDEN: readonly (readonly [file: string, text: string, kinds: readonly string[]])[] = [
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
  ['libs/operations/src/index.ts', `import '@banking/deployment';`, WRONG_ARROW],
  ['libs/operations/src/orders/orders.spec.ts', `import '@banking/books-proof';`, WRONG_ARROW],
  ['libs/operations/src/index.ts', `import '@nestjs/common';`, BANNED],
  ['libs/postgres/src/index.ts', `import 'pino';`, BANNED],
  ['libs/domain/src/index.ts', `import 'jose';`, BANNED],
  ['libs/client/src/index.ts', `import 'fastify';`, BANNED],
  ['apps/cli/src/main.ts', `import 'fastify';`, ['noTransitiveDependencies']],
];

export const ALLOWED: readonly (readonly [file: string, text: string])[] = [
  ['libs/operations/src/index.ts', `import '@banking/ledger';\nimport '@banking/domain';`],
  ['apps/api/src/main.ts', `import '@nestjs/common';\nimport '@banking/operations';`],
];
