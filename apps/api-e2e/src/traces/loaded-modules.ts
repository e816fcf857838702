import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';

/** Node loads this module before a program (`--require`). At its end, the program prints which files of OpenTelemetry it has loaded. */
const { cache } = createRequire(__filename);
process.on('exit', () => {
  const files = Object.keys(cache).filter((file) => file.includes('@opentelemetry'));
  const packages = new Set(files.map((file) => /@opentelemetry\/[^/]+/.exec(file)?.[0] ?? file));
  writeSync(process.stdout.fd, `loaded ${files.length} files of ${JSON.stringify([...packages].sort())}\n`);
});
