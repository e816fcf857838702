export interface RetiredWord {
  readonly index: number;
  readonly word: string;
  /** The replacements, quoted and joined by "or". */
  readonly write: string;
}

/** The retired words in a text, in order of their position. `strings` adds the words that are refused in literals only. */
export function retiredWordsIn(text: string, place?: 'strings' | 'everywhere'): RetiredWord[];
