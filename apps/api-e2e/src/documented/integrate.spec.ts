import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as ts from 'typescript';
import { bareEnvironment, isCi } from '../config.js';
import { ADA } from '../service.js';
import { freshService, type FreshService } from './fresh-service.js';
import { blocksOf, hasCurl, inShell } from './shell.js';

const ROOM = join(__dirname, '..', '..');
const PAGE = readFileSync(join(ROOM, '..', '..', 'docs', 'integrate.md'), 'utf8');
const FOLDER = join(ROOM, 'test-output', 'integrate');

/** What is run, and what the page says it prints. */
interface Step {
  readonly code: string;
  readonly printed: string;
}

/** Every block of a language that has what it prints right behind it. */
function stepsIn(language: string): Step[] {
  const lines = '((?:(?!```).*\\n)*)';
  const pair = new RegExp(`^\`\`\`${language}\\n${lines}\`\`\`\\n\\n\`\`\`(?:text|json)\\n${lines}\`\`\`$`, 'gm');
  return [...PAGE.matchAll(pair)].map(([, code = '', printed = '']) => ({ code, printed }));
}

const commands = stepsIn('sh');
const programs = stepsIn('ts');
const itWithCurl = hasCurl || isCi() ? it : it.skip;

describe('Given docs/integrate.md and a fresh demo world', () => {
  let service: FreshService;
  let variables: { BASE_URL: string; TOKEN: string };
  beforeAll(async () => {
    service = await freshService();
    variables = { BASE_URL: service.url, TOKEN: await service.tokenOf(ADA) };
  }, 180_000);
  afterAll(() => service?.stop());

  it('When it shows code Then it shows what that prints, but for the two lines that set it up', () => {
    const [setup = '', ...others] = blocksOf('sh', PAGE);

    expect(setup.match(/^export (\w+)=/gm)).toEqual(['export BASE_URL=', 'export TOKEN=']);
    expect(others).toEqual(commands.map(({ code }) => code));
    expect(blocksOf('ts', PAGE)).toEqual(programs.map(({ code }) => code));
    expect([commands.length, programs.length]).not.toContain(0);
  });

  itWithCurl.each(commands)('When a reader copies $code Then they see what it says', async ({ code, printed }) => {
    expect(readable(await inShell(code, variables))).toEqual(readable(printed));
  });

  it('When a reader runs its programs Then they compile, and print what it says', async () => {
    const files = programs.map(({ code }, index) => writeProgram(`program-${index}.mts`, code));

    expect(mistakesIn(files)).toEqual([]);
    for (const [index, { printed }] of programs.entries()) {
      expect(await run(files[index] ?? '', variables)).toBe(printed);
    }
  }, 60_000);
});

/** JSON however it is laid out, other text as it is. */
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
};

/** A program of the page with the two names it takes from the reader, where the published libraries can be found. */
function writeProgram(name: string, code: string): string {
  const given = `declare const process: { env: Record<'BASE_URL' | 'TOKEN', string> };
const { BASE_URL: baseUrl, TOKEN: token } = process.env;
`;
  const file = join(FOLDER, name);
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(file, given + code);
  return file;
}

function mistakesIn(files: readonly string[]): string[] {
  return ts
    .getPreEmitDiagnostics(ts.createProgram(files, OPTIONS))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

async function run(file: string, environment: Readonly<Record<string, string>>): Promise<string> {
  const { outputText } = ts.transpileModule(readFileSync(file, 'utf8'), { compilerOptions: OPTIONS });
  const program = file.replace(/\.mts$/, '.mjs');
  writeFileSync(program, outputText);
  const env = { ...bareEnvironment(), ...environment };
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env, timeout: 30_000 });
  return stdout;
}
