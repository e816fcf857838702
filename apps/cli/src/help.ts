import type { AddHelpTextContext } from 'commander';

type HelpText = (context: AddHelpTextContext) => string;

/** Text of the help that the usage after a mistake leaves out. */
export function onRequest(text: string): HelpText {
  return ({ error }) => (error ? '' : `\n${text}`);
}

export function examples(...lines: readonly string[]): HelpText {
  return onRequest([lines.length === 1 ? 'Example:' : 'Examples:', ...lines.map((line) => `  $ ${line}`)].join('\n'));
}
