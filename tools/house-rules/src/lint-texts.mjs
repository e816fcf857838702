/**
 * Lints texts as if they stood in the named files, with the repository's own configuration.
 *
 * Reads `[{ file, text }]` as JSON from standard input and writes `{ constraints, messages }` as its last line: the
 * boundary table in force and, for each text in turn, what ESLint says. A process of its own, because Jest cannot load
 * ESLint's configuration; nothing touches the disk, so it never races with a lint of the same project.
 */
import { text } from 'node:stream/consumers';
import { join, resolve } from 'node:path';
import { ESLint } from 'eslint';

const root = resolve(import.meta.dirname, '../../..');
const eslint = new ESLint({ cwd: root });
const cases = JSON.parse(await text(process.stdin));

const messages = [];
for (const { file, text } of cases) {
  const [result] = await eslint.lintText(text, { filePath: join(root, file) });
  messages.push(result.messages.map(({ ruleId, messageId, message, line }) => ({ ruleId, messageId, message, line })));
}

const config = await eslint.calculateConfigForFile(join(root, 'libs/domain/src/index.ts'));
const constraints = config.rules['@nx/enforce-module-boundaries'][1].depConstraints;
process.stdout.write(`\n${JSON.stringify({ constraints, messages })}\n`);
