import { createRequire } from 'node:module';
import { exitCodeOf } from './arguments.mjs';
import { compile } from './compile.mjs';
import { AREAS } from './mutation/areas.mjs';
import { run } from './programs.mjs';

const NAMES = Object.keys(AREAS);
const CONFIG = 'tools/mutation/stryker.config.mjs';
const USAGE = `Usage: npm run mutation -- [area...] [-- option...]

Changes the code in many small ways (mutants), runs the tests of the area against each, and lists the mutants that no test
noticed (Stryker). An area passes with 85 % of its mutants noticed. Takes minutes to an hour an area.

Areas: ${NAMES.join(', ')}; all of them by default.

Writes tmp/mutation-<area>.json and .html.

Options:
  -h, --help  print this help
  --          ends the areas. The options after it are those of \`stryker run\`, such as \`--concurrency 1\` for one mutant at a time
              (by default one a core), or \`--mutate apps/api/src/access/rate-limit.ts\` for one file of the area

Exit codes: 0 every area passed; 1 an area did not pass; 2 wrong usage.
`;

const args = process.argv.slice(2);
const end = args.includes('--') ? args.indexOf('--') : args.length;
const areas = args.slice(0, end);
const strykerOptions = args.slice(end + 1);
process.exitCode = exitCodeOf(areas, USAGE, NAMES) ?? (await mutate(areas.length > 0 ? areas : NAMES));

async function mutate(areas) {
  if ((await compile()) !== 0) return 1;
  // Loaded now, because it is compiled by the line before.
  const { startTestServer } = createRequire(import.meta.url)('@banking/postgres/testing');
  const server = await startTestServer();
  let exitCode = 0;
  try {
    for (const area of areas) {
      Object.assign(process.env, { MUTATION_AREA: area, MUTATION_PROJECT: AREAS[area].project });
      const code = await run('@stryker-mutator/core/bin/stryker.js', ['run', CONFIG, ...strykerOptions]);
      exitCode ||= code;
    }
  } finally {
    await server.stop();
  }
  return exitCode;
}
