import { join } from 'node:path';
import { node } from './node.js';
import { ROOT } from './workspace.js';

/** A text to lint as if it stood in a file. The file must exist: type-aware rules ask TypeScript which project it is in. */
export interface Case {
  readonly file: string;
  readonly text: string;
  /** Declarations that the text needs to compile. Cases that share them are linted as one file. */
  readonly above?: string;
  /** Linted by itself, because the text changes the rules of the whole file. */
  readonly alone?: boolean;
}

export interface Message {
  readonly ruleId: string | null;
  readonly messageId?: string;
  readonly message: string;
  /** Counted from the first line of the text. */
  readonly line: number;
}

/**
 * Lints texts with the configuration of the repository and returns the messages of each. The cases of one file are linted
 * in one text, one after another: TypeScript checks a text as a whole, so each one more would cost as much as the first.
 */
export function lint(cases: readonly Case[]): Message[][] {
  const batches = new Map<string, number[]>();
  cases.forEach(({ file, above, alone }, index) => {
    const key = JSON.stringify(alone ? index : [file, above]);
    batches.set(key, [...(batches.get(key) ?? []), index]);
  });
  const files = [...batches.values()].map((indexes) => fileOf(indexes.map((index) => ({ ...cases[index]!, index }))));
  const results = lintTexts(files.map(({ file, text }) => ({ file, text })));
  const messages = cases.map((): Message[] => []);
  files.forEach(({ startOf }, file) => {
    for (const message of results[file]!) {
      const owner = startOf.findLast(({ line }) => line <= message.line);
      if (owner === undefined) throw new Error(`the text above a case is reported: ${message.message}`);
      messages[owner.index]!.push({ ...message, line: message.line - owner.line + 1 });
    }
  });
  return messages;
}

/** The cases as one text, and the line on which each begins. */
function fileOf(cases: readonly (Case & { readonly index: number })[]) {
  const { file, above = '' } = cases[0]!;
  let text = above;
  const startOf = cases.map(({ index, text: own }) => {
    const line = text.split('\n').length;
    text += `${own}\n`;
    return { index, line };
  });
  return { file, text, startOf };
}

function lintTexts(texts: readonly { readonly file: string; readonly text: string }[]): Message[][] {
  const script = join(ROOT, 'tools/house-rules/src/lint-texts.mjs');
  const output = node(ROOT, [script], JSON.stringify(texts));
  return JSON.parse(output.trimEnd().split('\n').at(-1) ?? '') as Message[][];
}
