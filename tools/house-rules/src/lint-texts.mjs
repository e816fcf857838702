/**
 * Lints texts as if they stood in the named files, with the configuration of the repository.
 *
 * Reads `[{ file, text }]` as JSON from standard input and writes the messages of each text, in order, as its last line.
 * A process of its own, because Jest cannot load the configuration of ESLint. Writes no file, so it cannot disturb a lint
 * of the same project.
 */
import { text } from 'node:stream/consumers';
import { join, resolve } from 'node:path';
import { createProjectGraphAsync } from '@nx/devkit';
import { ESLint } from 'eslint';

// The rule about boundaries reads the graph from the cache of Nx, and reports nothing when there is none.
await createProjectGraphAsync();

const root = resolve(import.meta.dirname, '../../..');
const eslint = new ESLint({ cwd: root });
const cases = JSON.parse(await text(process.stdin));

const messages = [];
for (const { file, text } of cases) {
  const [result] = await eslint.lintText(text, { filePath: join(root, file) });
  messages.push(result.messages.map(({ ruleId, messageId, message, line }) => ({ ruleId, messageId, message, line })));
}
process.stdout.write(`\n${JSON.stringify(messages)}\n`);
