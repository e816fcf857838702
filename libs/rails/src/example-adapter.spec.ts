import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as ts from 'typescript';
import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import { checkConformance } from './conformance.js';
import { servedBy, type Served, TOKEN } from './testing/adapters.js';

const PAGE = readFileSync(join(__dirname, '../../../docs/connect-a-bank.md'), 'utf8');
const [, EXAMPLE = ''] = /```ts\n([\s\S]+?)```/.exec(PAGE) ?? [];

let world: FreshDatabase;
let folder: string;
let child: ChildProcess;
let config: Served['config'];
let given: Served;

beforeAll(async () => {
  world = await freshDatabase();
  const dist = join(__dirname, '../dist');
  mkdirSync(dist, { recursive: true });
  // In the package, so that the program finds the driver.
  folder = mkdtempSync(join(dist, 'example-'));
  const { outputText } = ts.transpileModule(EXAMPLE, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  });
  writeFileSync(join(folder, 'adapter.mjs'), outputText);
  const { host, port, user, password, database } = world.connection as Readonly<Record<string, string>>;
  const env = { PGHOST: host, PGPORT: String(port), PGUSER: user, PGPASSWORD: password, PGDATABASE: database, TOKEN };
  child = spawn(process.execPath, [join(folder, 'adapter.mjs')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout!, 'data')) as [Buffer];
  given = await servedBy(() => undefined);
  config = { ...given.config, url: `http://127.0.0.1:${line.toString().trim()}` };
});
afterAll(async () => {
  const ended = once(child, 'exit');
  child.kill();
  await ended;
  await given.close();
  await world.close();
  rmSync(folder, { recursive: true });
});

describe('the example adapter of the documentation', () => {
  it('meets every check', async () => {
    expect((await checkConformance(config)).filter(({ isMet }) => !isMet)).toEqual([]);
  });

  it('has at most 150 lines', () => {
    expect(EXAMPLE.split('\n').length).toBeLessThanOrEqual(150);
  });

  it('has the types that it names', () => {
    const path = join(folder, 'adapter.mts');
    writeFileSync(path, EXAMPLE);
    const program = ts.createProgram([path], {
      ...{ strict: true, noEmit: true, skipLibCheck: true, types: ['node'], noUncheckedIndexedAccess: true },
      ...{ target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext },
    });

    const mistakes = ts.getPreEmitDiagnostics(program).filter(({ file }) => file?.fileName === path);
    expect(mistakes.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
  });
});
