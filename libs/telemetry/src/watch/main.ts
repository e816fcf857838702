import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { WRITTEN_FILES } from './files.js';

const ROOT = join(__dirname, '..', '..', '..', '..');

for (const [name, contentOf] of Object.entries(WRITTEN_FILES)) {
  const file = join(ROOT, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, contentOf(existsSync(file) ? readFileSync(file, 'utf8') : ''));
  process.stdout.write(`Wrote ${name}.\n`);
}
