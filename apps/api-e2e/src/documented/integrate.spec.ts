import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as ts from 'typescript';
import { bareEnvironment, isCi } from '../config.js';
import { ADA } from '../service.js';
import { freshService, type FreshService } from '../running-service.js';
import { blocksOf, hasCurl, inShell } from './examples.js';

const PROJECT = join(__dirname, '..', '..');
const PAGES = join(PROJECT, '../../docs/integrate');
/** Links to the others in the order in which their commands run. */
const INDEX = 'README.md';
const OUTPUT = join(PROJECT, 'test-output', 'integrate');
/** Far above the time of every program on a busy machine. */
const PROGRAM_MS = 90_000;

const textOf = (page: string) => readFileSync(join(PAGES, page), 'utf8');

const pages = [INDEX, ...[...textOf(INDEX).matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, page = '']) => page)];

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

const blocksIn = (language: string) => pages.flatMap((page) => blocksOf(language, textOf(page)));

const commands = examplesIn('sh');
const programs = examplesIn('ts').map((program, index) => ({ ...program, file: join(OUTPUT, `program-${index}.mts`) }));
const itWithCurl = hasCurl || isCi() ? it : it.skip;

describe('pages for integrators', () => {
  let service: FreshService;
  let variables: { BASE_URL: string; TOKEN: string };
  beforeAll(async () => {
    service = await freshService();
    variables = { BASE_URL: service.url, TOKEN: await service.tokenOf(ADA) };
  });
  afterAll(() => service?.stop());

  it('are all linked once in the index', () => {
    expect([...pages].sort()).toEqual(readdirSync(PAGES).sort());
  });

  it('show the output of each command and program, except for the setup of two variables', () => {
    const [setup = '', ...others] = blocksIn('sh');

    expect(setup.match(/^export (\w+)=/gm)).toEqual(['export BASE_URL=', 'export TOKEN=']);
    expect(others).toEqual(commands.map(({ code }) => code));
    expect(blocksIn('ts')).toEqual(programs.map(({ code }) => code));
    expect([commands.length, programs.length]).not.toContain(0);
  });

  itWithCurl.each(commands)('show the output of command $# ($page)', async ({ code, output }) => {
    expect(readable(await inShell(code, variables))).toEqual(readable(output));
  });

  it('show programs that compile', () => {
    programs.forEach(writeProgram);

    expect(compilerErrors(programs.map(({ file }) => file))).toEqual([]);
  });

  it.each(programs)('show the output of program $# ($page)', async (program) => {
    writeProgram(program);

    expect(await run(program.file, variables)).toBe(program.output);
  });
});

/** Parses JSON, whose layout may differ. Returns other text unchanged. */
function readable(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const OPTIONS: ts.CompilerOptions = {
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

/** Writes a program with the two variables it expects, in a folder that resolves the published libraries. */
function writeProgram({ file, code }: { readonly file: string; readonly code: string }): void {
  const variables = `declare const process: { env: Record<'BASE_URL' | 'TOKEN', string> };
const { BASE_URL: baseUrl, TOKEN: token } = process.env;
`;
  mkdirSync(OUTPUT, { recursive: true });
  writeFileSync(file, variables + code);
}

function compilerErrors(files: readonly string[]): string[] {
  return ts
    .getPreEmitDiagnostics(ts.createProgram(files, OPTIONS))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

async function run(file: string, environment: Readonly<Record<string, string>>): Promise<string> {
  const { outputText } = ts.transpileModule(readFileSync(file, 'utf8'), { compilerOptions: OPTIONS });
  const program = file.replace(/\.mts$/, '.mjs');
  writeFileSync(program, outputText);
  const env = { ...bareEnvironment(), ...environment };
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env, timeout: PROGRAM_MS });
  return stdout;
}
