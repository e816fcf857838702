/**
 * Reads the arguments of a command that takes none, or some of the `areas`. Prints the usage for --help, and an error for
 * anything else.
 *
 * @returns the exit code, or undefined if the command may run
 */
export function exitCodeOf(args, usage, areas = []) {
  if (args.every((arg) => areas.includes(arg))) return undefined;
  if (args.length === 1 && ['--help', '-h'].includes(args[0])) {
    process.stdout.write(usage);
    return 0;
  }
  process.stderr.write(`error: ${mistakeIn(args, areas)}\n\n${usage}`);
  return 2;
}

function mistakeIn(args, areas) {
  const option = args.find((arg) => arg.startsWith('-') && !['--help', '-h'].includes(arg));
  if (option !== undefined) return `unknown option '${option}'`;
  const area = args.find((arg) => !areas.includes(arg));
  return areas.length > 0 ? `unknown area '${area}'` : 'too many arguments';
}
