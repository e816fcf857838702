export interface RetiredWordEntry {
  /** Every form that is refused, in small letters; phrases with spaces. */
  readonly forms: readonly string[];
  readonly write: readonly string[];
  /** Phrases that contain a form and stay allowed. */
  readonly standard?: readonly string[];
  readonly places?: 'strings';
}

export const RETIRED_WORDS: readonly RetiredWordEntry[];
