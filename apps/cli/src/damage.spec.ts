import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { World } from './testing/world.js';

const world = new World();

afterAll(() => world.close());

/** The message for an operator states what to do, without a stack or a class name. */
const STACK = /^\s+at .+:\d+:\d+|node:internal|\bError:/m;

describe('a command on a damaged database', () => {
  beforeAll(async () => {
    await world.fill();
    overwriteTableWith('Float for Berlin');
  });

  it.each([[['verify']], [['verify', '--json']], [['verify', '--workspace', '1']]])(
    'reports the damage and the next step for %j',
    async (args) => {
      const { exitCode, stdout, stderr } = await world.run(args);

      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
      expect(stderr).toMatch(
        /^The database in DATA_DIR is damaged: .+\. Stop every process that uses it and put a backup in its place\.$/m,
      );
      expect(stderr).not.toMatch(STACK);
    },
  );

  it('succeeds if it does not read the damaged table', async () => {
    expect(await world.json('app', 'list')).toHaveLength(2);
  });
});

/** Overwrites the beginning of the table that contains a text. */
function overwriteTableWith(text: string): void {
  const folder = join(world.dataDir, 'database/base/5');
  // The tables of PostgreSQL itself have lower numbers.
  const ours = readdirSync(folder).filter((name) => /^\d+$/.test(name) && Number(name) >= 16_384);
  const tables = ours.map((name) => join(folder, name)).filter((file) => readFileSync(file).includes(text));
  if (tables.length !== 1) throw new Error(`${tables.length} tables hold "${text}"`);
  for (const table of tables) {
    const content = readFileSync(table);
    writeFileSync(table, content.fill(0x5a, 0, 4096));
  }
}
