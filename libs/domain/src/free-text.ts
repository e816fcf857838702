/**
 * The general categories Cc (control), Cf (format), Co (private use) and Cs (surrogate) of Unicode, line and paragraph separators, and
 * noncharacters. Such characters are invisible, change the direction or the lines of the text around them, or have another meaning at
 * each receiver. In the notation of a character class with the flag `u`, which the patterns of JSON Schema have too.
 */
export const FORBIDDEN_CLASSES = '\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}\\p{Zl}\\p{Zp}\\p{NChar}';

const FORBIDDEN = new RegExp(`[${FORBIDDEN_CLASSES}]`, 'u');

/** Names the forbidden characters in messages: "It must not contain …". */
export const FORBIDDEN_CHARACTERS = 'control, format or private-use characters, or line breaks';

/** Whether a text contains a character that free text must not contain. Half of a surrogate pair is one. */
export function hasForbiddenCharacter(text: string): boolean {
  return FORBIDDEN.test(text);
}

/**
 * Whether a text may be stored as free text, such as a name, an alias, a description or a reference: 1 to `maxLength` characters
 * (code points, as JSON Schema and PostgreSQL count), not only spaces, without forbidden characters.
 */
export function isFreeText(text: string, maxLength: number): boolean {
  return isWithin(text, maxLength) && !hasForbiddenCharacter(text) && text.trim() !== '';
}

/** A character is one or two UTF-16 code units. */
const isWithin = (text: string, maxLength: number): boolean =>
  text.length <= maxLength || (text.length <= 2 * maxLength && [...text].length <= maxLength);
