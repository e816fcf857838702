import { EXIT } from '@banking/process';
import { runCommand } from './program.js';

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', ({ code }: NodeJS.ErrnoException) => {
    // A reader that closes the pipe early, such as `head`, is not a failure.
    if (code === 'EPIPE') return;
    console.error(
      `The output could not be written (${code}), so its end is missing; what the command changed stays changed.`,
    );
    // A command that runs until it is stopped would go on without output.
    process.exit(EXIT.failed);
  });
}

runCommand(process.argv.slice(2)).then(
  (exitCode) => (process.exitCode = exitCode),
  (error: unknown) => {
    console.error(error);
    process.exitCode = EXIT.failed;
  },
);
