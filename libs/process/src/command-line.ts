/** Text for a person at a terminal, and the exit code it comes with. */
export interface UsageText {
  readonly text: string;
  readonly exitCode: 0 | 2;
}

/**
 * The response of a program without arguments to its command line: the usage for `--help`, an error for anything else.
 *
 * @returns undefined if the program may start
 */
export function usageFor(args: readonly string[], usage: string): UsageText | undefined {
  const [first, ...more] = args;
  if (first === undefined) return undefined;
  if (isHelp(first) && more.length === 0) return { text: usage, exitCode: 0 };
  const unknown = args.find((arg) => arg.startsWith('-') && !isHelp(arg));
  const mistake = unknown === undefined ? 'too many arguments' : `unknown option '${unknown}'`;
  return { text: `error: ${mistake}\n\n${usage}`, exitCode: 2 };
}

const isHelp = (arg: string) => arg === '--help' || arg === '-h';
