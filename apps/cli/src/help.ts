import type { AddHelpTextContext } from 'commander';

type HelpText = (context: AddHelpTextContext) => string;

/** What only somebody who asked for help wants to read: the usage shown after a mistake is without it. */
export function onRequest(text: string): HelpText {
  return ({ error }) => (error ? '' : `\n${text}`);
}

export function examples(...lines: readonly string[]): HelpText {
  return onRequest([lines.length === 1 ? 'Example:' : 'Examples:', ...lines.map((line) => `  $ ${line}`)].join('\n'));
}
