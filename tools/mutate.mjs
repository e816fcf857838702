import { createRequire } from 'node:module';
import { exitCodeOf } from './arguments.mjs';
import { compile } from './compile.mjs';
import { AREAS } from './mutation/areas.mjs';
import { run } from './programs.mjs';

const NAMES = Object.keys(AREAS);
const USAGE = `Usage: npm run mutation -- [area...]

Changes the code in many small ways (mutants), runs the tests of the area against each, and lists the mutants that no test
noticed (Stryker). An area passes with 85 % of its mutants noticed. Takes minutes to an hour an area.

Areas: ${NAMES.join(', ')}; all of them by default.

Writes tmp/mutation-<area>.json and .html.

Options:
  -h, --help  print this help

Exit codes: 0 every area passed; 1 an area did not pass; 2 wrong usage.
`;

const areas = process.argv.slice(2);
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
      exitCode ||= await run('@stryker-mutator/core/bin/stryker.js', ['run', 'tools/mutation/stryker.config.mjs']);
    }
  } finally {
    await server.stop();
  }
  return exitCode;
}
