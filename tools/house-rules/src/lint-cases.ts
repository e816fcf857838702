import type { Case } from './lint.js';

const LIBRARY = { file: 'libs/ledger/src/index.ts' };

export interface RuleCase extends Case {
  /** The rules that report, in order; `null` is ESLint's report of a directive without effect. */
  readonly rules: readonly (string | null)[];
}

type Place = Omit<Case, 'text'>;

const accept = (place: Place, ...texts: string[]): RuleCase[] => texts.map((text) => ({ ...place, text, rules: [] }));
const refuse = (rule: string, place: Place, ...texts: string[]): RuleCase[] =>
  texts.map((text) => ({ ...place, text, rules: [rule] }));

/** Expressions as statements that stand beside each other. */
const statements = (...expressions: string[]) => expressions.map((expression) => `void (${expression});`);

const MONEY = {
  ...LIBRARY,
  above: `import type { MinorUnits, TransferAmount, BalanceAmount } from '@banking/domain';
declare const sum: MinorUnits, sent: TransferAmount, left: BalanceAmount, big: bigint, sums: MinorUnits[];
declare const row: { amount: string; fee_amount: number; balance_id: bigint; title: string; feeCount: number };
export { sum, sent, left, big, sums, row };
`,
};

const ROUTES = {
  file: 'apps/api/src/products/products.controller.ts',
  above: `import * as nest from '@nestjs/common';
import { Controller, Get, Get as Read, applyDecorators } from '@nestjs/common';
import { Operation } from '../access/operation.decorator.js';
const { Post: Write } = nest;
const Fetch = Get;
const Both = () => applyDecorators(Get());
const text = { summary: '', description: '', provenance: 'ours', refusals: [] } as const;
const computed = 'listProducts';
export { Controller, Read, Operation, Write, Fetch, Both, text, computed };
`,
};

const PLAIN = 'house/plain-words';

export const RULE_CASES: readonly RuleCase[] = [
  ...refuse(
    'house/environment-in-config',
    LIBRARY,
    'export const url = process.env.DATABASE_URL;',
    'export const { env } = process;',
    'export const { env: settings } = process;',
    'export const { env: { DATABASE_URL } } = process;',
    'export const { process: { env } } = globalThis;',
    `export const url = process['env'].DATABASE_URL;`,
    `const key = 'env';\nexport const url = process[key].DATABASE_URL;`,
    'export const url = globalThis.process.env.DATABASE_URL;',
    'export const url = process?.env?.DATABASE_URL;',
    'const here = process;\nexport const url = here.env.DATABASE_URL;',
    'export const read = ({ env } = process) => env.DATABASE_URL;',
    `import { env } from 'node:process';\nexport const url = env.DATABASE_URL;`,
    `import { env as settings } from 'process';\nexport const url = settings.DATABASE_URL;`,
    `import host from 'node:process';\nexport const url = host.env.DATABASE_URL;`,
    `import * as node from 'node:process';\nexport const url = node.env.DATABASE_URL;`,
    `export { env } from 'node:process';`,
  ),
  ...accept(LIBRARY, 'export const { env } = { env: 1 };', 'export const { pid } = process;'),
  ...accept({ file: 'apps/api/src/config.ts' }, 'export const url = process.env.DATABASE_URL;'),
  ...accept({ file: 'libs/postgres/src/testing/index.ts' }, 'export const url = process.env.DATABASE_URL;'),

  ...refuse(
    'house/exact-money',
    MONEY,
    ...statements(
      'Number(sum)',
      'Number(sent)',
      'Number(left)',
      'Number(big)',
      'Number(sum / 100n) / 100',
      'new Number(sum)',
      'globalThis.Number(sum)',
      '[Number].map((read) => read(sum))',
      'parseFloat(sent)',
      'parseInt(sent, 10)',
      'Number.parseFloat(sent)',
      'Number.parseInt(row.amount)',
      'Number(row.amount)',
      'Number(String(sum))',
      'Number(sum.toString())',
      'Number(`${sum}`)',
      'Number(sum ?? 0)',
      '+sent',
      '+row.amount',
      '~row.fee_amount',
      'sums.map(Number)',
      'Array.from(sums, Number)',
      'Math.round(row.fee_amount)',
      'Math.max(row.fee_amount, 0)',
      'row.fee_amount.toFixed(2)',
      '(left as number).toFixed(2)',
      'row.fee_amount * 2',
      'row.fee_amount - 1',
      '(row.fee_amount += 2)',
    ),
  ),
  ...accept(
    MONEY,
    ...statements(
      'Number(row.balance_id)',
      'Number(row.title)',
      'Number(row.feeCount)',
      'row.feeCount + 1',
      'sum + 1n',
      'big * 2n',
      '-sum',
      '`${row.fee_amount} paid`',
      `row.amount + ' paid'`,
      'String(sum)',
      'sums.map(String)',
      'Number.isSafeInteger(left)',
      'Math.round(row.feeCount)',
    ),
  ),
  ...accept({ file: 'libs/domain/src/amount.ts' }, 'export const integer = (amount: bigint) => Number(amount);'),

  ...refuse(
    'house/routes-declare-access',
    ROUTES,
    '@Controller() export class A { @Get() list() {} }',
    '@Controller() export class A { @Read() list() {} }',
    '@Controller() export class A { @nest.Get() list() {} }',
    '@Controller() export class A { @Write() list() {} }',
    '@Controller() export class A { @Fetch() list() {} }',
    '@Controller() export class A { @Both() list() {} }',
    '@nest.Controller() export class A { @Both() list() {} }',
    'export abstract class A { @Get() list() {} }',
    '@Controller() export class A { @Get() list = () => 1; }',
    `@Controller() export class A { @Get() @Operation list() {} }`,
    `@Controller() export class A { @Get() @Operation(computed, text) list() {} }`,
    `const Allowed = (id: string) => Get(id);\n@Controller() export class A { @Get() @Allowed('listProducts') list() {} }`,
  ),
  ...accept(
    ROUTES,
    `@Controller() export class A { @Get() @Operation('listProducts', text) list() {} }`,
    `@Controller() export class A { @Both() @Operation('listProducts', text) list() {} }`,
    '@Controller() export class A { answer() {} }',
    'export class A { @Both() list() {} }',
  ),

  ...refuse('no-restricted-imports', { file: 'libs/domain/src/index.ts' }, `import 'node:fs';`),
  ...refuse('no-restricted-imports', { file: 'libs/client/src/index.ts' }, `import 'crypto';`),
  ...refuse(
    'no-restricted-imports',
    { file: 'libs/operations/src/index.ts' },
    `export { chooseRates } from '@banking/reference';`,
  ),
  ...accept({ file: 'libs/operations/src/index.ts' }, `export { NO_RATES } from '@banking/reference';`),
  ...refuse('@typescript-eslint/no-floating-promises', LIBRARY, 'Promise.resolve();'),
  ...refuse('@typescript-eslint/no-misused-promises', LIBRARY, 'if (Promise.resolve()) { /* paid */ }'),

  ...refuse('house/described-directives', LIBRARY, 'var a = 1; // eslint-disable-line\nexport { a };'),
  ...refuse(
    'house/described-directives',
    { ...LIBRARY, alone: true },
    '/* eslint-disable */\nvar a = 1;\nexport { a };',
    '/* eslint-disable no-var --\n */\nvar a = 1;\nexport { a };',
  ),
  ...accept({ ...LIBRARY, alone: true }, '/* eslint-disable no-var -- an example */\nvar a = 1;\nexport { a };'),
  { ...LIBRARY, text: '// eslint-disable-next-line no-var -- no need\nexport const a = 1;', rules: [null] },

  ...['ledger/src/index', 'payouts/src/index', 'operations/src/index', 'reference/src/rates/rate-source'].flatMap(
    (file) =>
      refuse(
        'no-restricted-syntax',
        { file: `libs/${file}.ts` },
        'export const today = new Date();',
        'export const now = Date.now();',
      ),
  ),
  ...accept({ file: 'libs/ledger/src/index.ts' }, 'export const at = (text: string) => new Date(text);'),

  ...refuse(
    PLAIN,
    LIBRARY,
    `export const orderDesk = 1;`,
    `export class OrderLane {}`,
    `export class A { #lastWord = 1; next = () => this.#lastWord; }`,
    `export const a = desk;\ndeclare const desk: number;`,
    `/** Refused, else the caller would\n * come\n * again. */\nexport const a = 1;`,
    `export const message = 'The flight failed.';`,
    `export const message = (id: number) => \`Nobody has the id \${id}.\`;`,
    `export const log = 'a bug';`,
  ),
  ...accept(
    LIBRARY,
    'export const requestsInFlight = 0; // requests in flight',
    `export const wallClock = 0;`,
    `// a bug of the sender\nexport const a = 1;`,
    `export * from './desk.js';`,
    'export const operationId = "forgetRecipient";',
  ),
  ...refuse(PLAIN, { file: `libs/ledger/src/desk/index.mjs` }, ''),

  ...refuse('house/telling-names', { file: 'apps/api/src/utils/money.mjs' }, ''),
  ...refuse('house/telling-names', { file: 'libs/ledger/src/types.mjs' }, ''),
  ...refuse('house/telling-names', { file: 'tools/string-helpers.mjs' }, ''),
  ...accept({ file: 'libs/postgres/src/column-types.mjs' }, ''),
];
