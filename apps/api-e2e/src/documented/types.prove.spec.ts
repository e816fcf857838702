import { offlineDocument } from './read-document.js';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as ts from 'typescript';
import { bareEnvironment } from '../config.js';
import { routesOf, successOf } from './document.js';

const PROJECT = join(__dirname, '..', '..');
const DOCUMENT = join(PROJECT, '..', 'api', 'openapi.json');
const FOLDER = join(PROJECT, 'test-output', 'types');

/** These answer for the process, not for the port. */
const NOT_OF_THE_PORT = ['getLiveness', 'getReadiness'];

/** Without a body there is no type to compare. */
const NO_CONTENT = 204;

describe('types generated from the document', () => {
  const routes = routesOf(offlineDocument()).filter(
    (route) => !NOT_OF_THE_PORT.includes(route.operation.operationId) && successOf(route) !== NO_CONTENT,
  );

  it('are mutually assignable with the types of the domain package', async () => {
    await generate(DOCUMENT);
    const checks = routes.map(({ method, path, operation }) => {
      const name = operation.operationId;
      const wire = `paths['${path}']['${method.toLowerCase()}']['responses'][${successOf({ operation })}]['content']['application/json']`;
      const ours = `Sent<Awaited<ReturnType<BankingService['${name.replace(/Formerly$/, '')}']>>>`;
      return `export const ${name}: Same<${wire}, Plain<${ours}>> = true;`;
    });

    expect(checks).not.toHaveLength(0);
    expect(compileErrorsIn([PREAMBLE, ...checks, ERROR_CHECK].join('\n'))).toEqual([]);
  });

  it('fail to compile if a type, a required field, a value or a field differs', async () => {
    await generate(DOCUMENT);
    const differences = [
      `{ readonly id: string; readonly name: string; readonly createdAt?: string }`,
      `{ readonly id: number; readonly name?: string; readonly createdAt?: string }`,
      `{ readonly id: number; readonly name: string; readonly createdAt?: 'today' }`,
      `{ readonly id: number; readonly name: string; readonly createdAt?: string; readonly owner?: string }`,
      `{ readonly id: number; readonly name: string }`,
    ].map((other, index) => `export const different${index}: Same<components['schemas']['App'], ${other}> = true;`);

    expect(compileErrorsIn([PREAMBLE, ...differences].join('\n'))).toHaveLength(differences.length);
  });
});

/**
 * `Plain` takes off what only the compiler sees: brands, and the known values of words that may grow. What is left of a
 * branded string is a string, of a `debit` the word itself.
 */
const PREAMBLE = `
import type { BankingService, Created, ErrorBody, Order, OrderPage, Page, Statement, StatementPage } from '@banking/domain';
import type { components, paths } from './openapi.js';

/** A page travels as its items, what was made as itself; the rest stands in headers. */
type Sent<T> = T extends Page<infer Item> ? readonly Item[] : T extends Created<infer Made> ? Made : T extends StatementPage ? Statement : T extends OrderPage ? Order : T;
type Word<T extends string> = Record<never, never> extends Record<T, 1> ? string : T;
type Plain<T> = [T] extends [string | undefined] ? Words<T>
  : T extends number | symbol ? number
  : T extends boolean | undefined | null ? T
  : T extends readonly (infer Item)[] ? readonly Plain<Item>[]
  : T extends object ? { readonly [K in keyof T]: Plain<T[K]> }
  : T;
type Words<T> = T extends string ? Word<T> : T;
type Assignable<From, To> = [From] extends [To] ? true : false;
type Both<A, B> = Assignable<A, B> extends true ? Assignable<B, A> : false;
/** Leaving a field out that may be missing would go unseen: so once more with every field required. */
type Full<T> = T extends readonly (infer Item)[] ? readonly Full<Item>[] : T extends object ? { readonly [K in keyof T]-?: Full<T[K]> } : T;
type Same<A, B> = Both<A, B> extends true ? Both<Full<A>, Full<B>> : false;
`;

const ERROR_CHECK = `export const error: Same<components['schemas']['Error'], Plain<ErrorBody>> = true;`;

async function generate(document: string): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  const cli = join(require.resolve('openapi-typescript/package.json'), '..', 'bin', 'cli.js');
  const args = [cli, document, '--immutable', '--output', join(FOLDER, 'openapi.ts')];
  await promisify(execFile)(process.execPath, args, { env: bareEnvironment(), timeout: 60_000 });
}

/** The errors of the compiler for a module that imports the generated one, with our own strict settings. */
function compileErrorsIn(code: string): string[] {
  const file = join(FOLDER, 'checks.ts');
  writeFileSync(file, code);
  const { config } = ts.readConfigFile(join(PROJECT, 'tsconfig.build.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, PROJECT);
  const program = ts.createProgram([file], {
    ...options,
    rootDir: join(PROJECT, '..', '..'),
    noEmit: true,
    noUnusedLocals: false,
    composite: false,
    incremental: false,
  });
  return ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ messageText, start, file: at }) =>
        `${at?.text.slice(start, start ? start + 80 : 80).split('\n')[0]}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
    );
}
