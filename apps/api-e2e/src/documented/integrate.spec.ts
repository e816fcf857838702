import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as ts from 'typescript';
import { bareEnvironment, isCi } from '../config.js';
import { ADA } from '../service.js';
import { freshService, type FreshService } from '../running-service.js';
import { blocksOf, hasCurl, inShell } from './examples.js';
import { blocksIn, commands, OPTIONS, OUTPUT, PAGES, pages, programs, writeProgram } from './pages.js';

/** Far above the time of every program on a busy machine. */
const PROGRAMS_MS = 120_000;
/** Printed after each program. */
const END = '-- end of a program --\n';

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

  // programs.prove.spec.ts compiles them.
  describe('the programs', () => {
    let outputs: readonly string[];
    beforeAll(async () => {
      outputs = await runInTurn(programs.map(compiled), variables);
    });

    it.each(programs.map(({ page, output }, index) => ({ page, output, index })))(
      'show the output of program $# ($page)',
      ({ output, index }) => {
        expect(outputs[index]).toBe(output);
      },
    );
  });
});

describe('the page of service accounts', () => {
  let service: FreshService;
  beforeAll(async () => {
    service = await freshService();
  });
  afterAll(() => service?.stop());

  itWithCurl('has commands that run in turn on a new sandbox', async () => {
    const page = readFileSync(join(__dirname, '../../../../docs/service-accounts.md'), 'utf8');
    const command = `'${process.execPath}' '${join(__dirname, '../../../cli/dist/main.js')}'`;
    const code = blocksOf('sh', page).join('').replaceAll('npm run -s banking --', command);
    const variables = { BASE_URL: service.url, TOKEN: await service.tokenOf(ADA), DATA_DIR: service.dataDir };

    expect(await inShell(code, variables)).toMatch(
      /^\[.*"status":"completed".*\]Id +Account .*\n(?:.+\n)+Revoked key \d+ of service account \d+\.\n$/,
    );
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

/** Writes a program without its types. @returns its path */
function compiled(program: (typeof programs)[number]): string {
  writeProgram(program);
  const { outputText } = ts.transpileModule(readFileSync(program.file, 'utf8'), { compilerOptions: OPTIONS });
  const file = program.file.replace(/\.mts$/, '.mjs');
  writeFileSync(file, outputText);
  return file;
}

/** Runs programs in one process, each after the one before has ended. @returns the output of each */
async function runInTurn(
  files: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const all = join(OUTPUT, 'all.mjs');
  const lines = files.map(
    (file) => `await import(${JSON.stringify(file)});\nprocess.stdout.write(${JSON.stringify(END)});`,
  );
  writeFileSync(all, lines.join('\n'));
  const env = { ...bareEnvironment(), ...environment };
  const { stdout } = await promisify(execFile)(process.execPath, [all], { env, timeout: PROGRAMS_MS });
  return stdout.split(END);
}
