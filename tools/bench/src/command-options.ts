import { type Command, InvalidArgumentError, Option } from 'commander';
import { report } from './report.js';
import type { Result } from './request.js';

export function wholeFrom(least: number): (text: string) => number {
  return (text) => {
    const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : NaN;
    if (!(value >= least)) throw new InvalidArgumentError(`Give a whole number, ${least} or more.`);
    return value;
  };
}

/** A part of a second is for a spec: a round of one second would take most of its time. */
function secondsOf(text: string): number {
  return /^0\.[1-9]$/.test(text) ? Number(text) : wholeFrom(1)(text);
}

export const count = (name: string, meaning: string, otherwise: number, least = 1) =>
  new Option(`${name} <count>`, meaning).argParser(wholeFrom(least)).default(otherwise);

/** Progress is not output: a result can be piped to a file. */
export const onProgress = (line: string) => process.stderr.write(`${line}\n`);

export function print(result: Result, asJson: boolean | undefined): void {
  process.stdout.write(`${asJson ? JSON.stringify(result, null, 2) : report(result)}\n`);
}

/** A command with the options of every measurement. */
export function bench(
  program: Command,
  name: string,
  summary: string,
  description: string,
  { connections = 32, seconds = 5 }: { readonly connections?: number; readonly seconds?: number } = {},
): Command {
  return program
    .command(name)
    .summary(summary)
    .description(description)
    .addOption(count('--rounds', 'rounds that measure each pair', 5))
    .addOption(
      new Option('--seconds <count>', 'seconds per side and round; 0.1 to 0.9 only try the command')
        .argParser(secondsOf)
        .default(seconds),
    )
    .addOption(count('--connections', 'concurrent connections', connections))
    .option('--json', 'print every measurement as JSON');
}
