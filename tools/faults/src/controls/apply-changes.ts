import type { Change } from './control.js';

/** The sources no longer have the text that a control replaces, or have it several times. */
export class OutdatedError extends Error {
  override readonly name = 'OutdatedError';
}

/**
 * Returns the text of a file with the change.
 *
 * @throws OutdatedError unless the text to replace occurs exactly once
 */
function applyChange(text: string, { file, from, to }: Change): string {
  const occurrences = text.split(from).length - 1;
  if (occurrences !== 1) {
    const found = occurrences === 0 ? 'no longer has' : `has ${occurrences} times`;
    throw new OutdatedError(`${file} ${found} the text: ${from.trim().split('\n')[0]}`);
  }
  return text.replace(from, () => to);
}

/** The changed text of each file. Several changes of one file are made one after another. @throws OutdatedError */
export function applyChanges(changes: readonly Change[], read: (file: string) => string): Map<string, string> {
  const texts = new Map<string, string>();
  for (const change of changes) {
    texts.set(change.file, applyChange(texts.get(change.file) ?? read(change.file), change));
  }
  return texts;
}
