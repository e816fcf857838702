/**
 * Reads the arguments of a command that takes none. Prints the usage for --help, and an error for anything else.
 *
 * @returns the exit code, or undefined if the command may run
 */
export function exitCodeOf(args, usage) {
  if (args.length === 0) return undefined;
  if (args.length === 1 && ['--help', '-h'].includes(args[0])) {
    process.stdout.write(usage);
    return 0;
  }
  process.stderr.write(`error: ${mistakeIn(args)}\n\n${usage}`);
  return 2;
}

function mistakeIn(args) {
  const unknown = args.find((arg) => arg.startsWith('-') && !['--help', '-h'].includes(arg));
  return unknown === undefined ? 'too many arguments' : `unknown option '${unknown}'`;
}
