import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT, read } from './workspace.js';

/** The tools of this folder, as their usage calls them. What an app does with its arguments, its own specs try. */
const TOOLS = {
  'tools/run.mjs': 'node tools/run.mjs <app>',
  'tools/test.mjs': 'npm test',
  'tools/prove.mjs': 'npm run prove',
  'tools/mutate.mjs': 'npm run mutation',
  'tools/specs-in-a-cell.mjs': 'npm run specs:in-a-cell',
  'tools/versions.mjs': 'npm run versions',
  'tools/openapi.mjs': 'npm run openapi',
  'tools/sbom.mjs': 'npm run -s sbom',
  'tools/count.mjs': 'npm run count',
  'tools/package.mjs': 'npm run package',
  'tools/image.mjs': 'npm run image',
};

/** Scripts that run an installed program as it is, or a program that reads no arguments. */
const FOREIGN = ['build', 'lint', 'format', 'picture'];
/** Scripts whose program has a spec of its own for this. */
const TRIED_ELSEWHERE = ['examples', 'fuzz', 'sockets', 'schema'];

function run(tool: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, tool), ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe.each(Object.entries(TOOLS))('%s on a command line', (tool, name) => {
  it.each(['--help', '-h'])('prints only the usage for %s', (option) => {
    const { status, stdout, stderr } = run(tool, option);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.startsWith(`Usage: ${name}`)).toBe(true);
  });

  it.each([[['--nosuch']], [['--nosuch', 'more']], [['nosuch']]])(
    'reports the mistake of %j with the usage and exit code 2',
    (args) => {
      const { status, stdout, stderr } = run(tool, ...args);

      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(stderr).toMatch(/^error: (unknown option '--nosuch'|too many arguments|unknown (app|area) 'nosuch')\n\n/);
      expect(stderr).toContain(`\n\nUsage: ${name}`);
    },
  );
});

describe('the scripts of the workspace', () => {
  it('run a tool whose mistakes this spec or a listed one tests', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

    const untried = Object.entries(scripts).filter(
      ([name, command]) =>
        !Object.keys(TOOLS).some((tool) => command.includes(tool)) && ![...FOREIGN, ...TRIED_ELSEWHERE].includes(name),
    );
    expect(untried).toEqual([]);
  });

  it('report a missing app', () => {
    expect(run('tools/run.mjs')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/^error: the app is missing/),
    });
  });
});
