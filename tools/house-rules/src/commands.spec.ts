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

describe.each(TOOLS)('%s on a command line', (tool) => {
  it.each(['--help', '-h'])('prints only the usage for %s', (option) => {
    const { status, stdout, stderr } = run(tool, option);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: /);
  });

  it.each([[['--nosuch']], [['--nosuch', 'more']], [['nosuch']]])(
    'reports the mistake of %j with the usage and exit code 2',
    (args) => {
      const { status, stdout, stderr } = run(tool, ...args);

      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(stderr).toMatch(/^error: (unknown option '--nosuch'|too many arguments|unknown (app|area) 'nosuch')\n\n/);
      expect(stderr).toContain('\n\nUsage: ');
    },
  );
});

describe('the scripts of the workspace', () => {
  it('report a missing app', () => {
    expect(run('tools/run.mjs')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/^error: the app is missing/),
    });
  });
});
