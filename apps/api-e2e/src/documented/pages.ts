import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as ts from 'typescript';
import { blocksOf } from './examples.js';

const PROJECT = join(__dirname, '..', '..');
/** The folder of the pages for integrators. */
export const PAGES = join(PROJECT, '../../docs/integrate');
/** Links to the others in the order in which their commands run. */
const INDEX = 'README.md';
/** Where the programs of the pages are written. It resolves the published libraries. */
export const OUTPUT = join(PROJECT, 'test-output', 'integrate');

const textOf = (page: string) => readFileSync(join(PAGES, page), 'utf8');

export const pages = [INDEX, ...[...textOf(INDEX).matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, page = '']) => page)];

/** A documented command or program, and its documented output. */
interface Example {
  readonly page: string;
  readonly code: string;
  readonly output: string;
}

/** The blocks of a language that a block with their output follows. */
function examplesIn(language: string): Example[] {
  const lines = '((?:(?!```).*\\n)*)';
  const pair = new RegExp(`^\`\`\`${language}\\n${lines}\`\`\`\\n\\n\`\`\`(?:text|json)\\n${lines}\`\`\`$`, 'gm');
  return pages.flatMap((page) =>
    [...textOf(page).matchAll(pair)].map(([, code = '', output = '']) => ({ page, code, output })),
  );
}

export const blocksIn = (language: string) => pages.flatMap((page) => blocksOf(language, textOf(page)));

export const commands = examplesIn('sh');
export const programs = examplesIn('ts').map((program, index) => ({
  ...program,
  file: join(OUTPUT, `program-${index}.mts`),
}));

export const OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
  types: [],
  strict: true,
  noEmit: true,
  // As Nest projects have them.
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  // Declarations of the frameworks that a receiver uses.
  skipLibCheck: true,
};

/** Writes a program with the two variables it expects. */
export function writeProgram({ file, code }: { readonly file: string; readonly code: string }): void {
  const variables = `declare const process: { env: Record<'BASE_URL' | 'TOKEN', string> };
const { BASE_URL: baseUrl, TOKEN: token } = process.env;
`;
  mkdirSync(OUTPUT, { recursive: true });
  writeFileSync(file, variables + code);
}
