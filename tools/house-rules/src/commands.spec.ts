import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT, read } from './workspace.js';

const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

/** The tools that the scripts of the workspace run. What an app does with its arguments, its own specs try. */
const TOOLS = [
  ...new Set(
    Object.values(scripts).flatMap((command) => /^(?:exec )?node (tools\/[\w-]+\.mjs)/.exec(command)?.[1] ?? []),
  ),
];

function run(tool: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, tool), ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

function expectUsage(tool: string, option: string) {
  const { status, stdout, stderr } = run(tool, option);

  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^Usage: /);
}

function expectMistake(tool: string, args: readonly string[], mistake: string) {
  const { status, stdout, stderr } = run(tool, ...args);

  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr.startsWith(`error: ${mistake}\n\n`)).toBe(true);
  expect(stderr).toContain('\n\nUsage: ');
}

describe.each(TOOLS)('%s on a command line', (tool) => {
  it('prints only the usage for --help', () => expectUsage(tool, '--help'));

  it('reports an unknown option with the usage and exit code 2', () =>
    expectMistake(tool, ['--nosuch'], "unknown option '--nosuch'"));
});

// All tools but `run.mjs` read their arguments with `arguments.mjs`: without areas, as `count.mjs`, or with some, as `mutate.mjs`.
describe.each([
  ['tools/count.mjs', 'too many arguments'],
  ['tools/mutate.mjs', "unknown area 'nosuch'"],
  ['tools/run.mjs', "unknown app 'nosuch'"],
])('%s', (tool, mistake) => {
  it('prints only the usage for -h', () => expectUsage(tool, '-h'));

  it('reports an unknown option before another argument', () =>
    expectMistake(tool, ['--nosuch', 'more'], "unknown option '--nosuch'"));

  it(`reports "${mistake}"`, () => expectMistake(tool, ['nosuch'], mistake));
});

describe('the scripts of the workspace', () => {
  it('report a missing app', () => {
    expect(run('tools/run.mjs')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/^error: the app is missing/),
    });
  });
});
