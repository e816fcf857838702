import { EXIT } from '@banking/process';
import { runCommand } from './program.js';

/** A reader that closes the pipe early, such as `head`, is not a failure. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

runCommand(process.argv.slice(2)).then(
  (exitCode) => (process.exitCode = exitCode),
  (error: unknown) => {
    console.error(error);
    process.exitCode = EXIT.failed;
  },
);
