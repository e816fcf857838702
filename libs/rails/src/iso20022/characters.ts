/**
 * The characters that every bank takes: Latin letters without marks, digits and some punctuation. The same are the basic set of SEPA
 * (EPC217-08, 2012-12, chapter 6.1) and the set X of SWIFT.
 */
const ALLOWED = /^[A-Za-z0-9/\-?:().,'+ ]$/;

/**
 * What other characters become. Letters with marks lose them, as in the conversion table of EPC217-08, whose Greek and Bulgarian letters
 * and whose replacements of `€`, `@`, `&` and `_` (chapter 6.2) these are. Cyrillic letters that it lacks are those of ICAO Doc 9303
 * part 3, section 6. Other symbols become a full stop, as there.
 */
const REPLACED = new Map<string, string>([
  ...pairs('ß s Æ A æ a Œ O œ o Ø O ø o Ð D ð d Þ T þ t Ł L ł l Đ D đ d Ħ H ħ h ı i ĸ k Ŋ N ŋ n Ŧ T ŧ t ſ s ẞ S'),
  ...bothCases('Α A Β V Γ G Δ D Ε E Ζ Z Η I Θ TH Ι I Κ K Λ L Μ M Ν N Ξ X Ο O Π P Ρ R Σ S Τ T Υ Y Φ F Χ CH Ψ PS Ω O'),
  ...pairs('ς s'),
  ...bothCases(
    'А A Б B В V Г G Д D Е E Ж ZH З Z И I Й Y К K Л L М M Н N О O П P Р R С S Т T У U Ф F Х H Ц TS Ч CH Ш SH',
  ),
  ...bothCases('Щ SHT Ъ A Ь Y Ю YU Я YA'),
  ...bothCases('Ё E Ы Y Э E Ђ D Є IE Ѕ DZ І I Ї I Ј J Љ LJ Њ NJ Ћ C Ќ K Ў U Џ DZ Ѓ G Ґ G'),
  ...pairs(
    "€ E @ (at) & + _ - ; , \" ' ` ' ´ ' ‘ ' ’ ' ‚ , “ ' ” ' „ ' « ' » ' – - — - ‐ - ‑ - ~ - [ ( ] ) { ( } ) \\ / | /",
  ),
]);

function pairs(text: string): [string, string][] {
  const parts = text.split(' ');
  return parts.flatMap((part, index) => (index % 2 === 0 ? [[part, parts[index + 1] ?? ''] as [string, string]] : []));
}

/** @param text capital letters with what they become */
function bothCases(text: string): [string, string][] {
  return pairs(text).flatMap(([from, to]): [string, string][] => [
    [from, to],
    [from.toLowerCase(), to.toLowerCase()],
  ]);
}

/** What a character becomes; undefined for one that has no counterpart, such as a letter of another script. */
function replacementOf(character: string): string | undefined {
  if (ALLOWED.test(character)) return character;
  const replaced = REPLACED.get(character);
  if (replaced !== undefined) return replaced;
  if (/^\p{M}$/u.test(character)) return '';
  if (/^\p{Z}$/u.test(character)) return ' ';
  const parts = [...character.normalize('NFKD')];
  if (parts.length > 1 || parts[0] !== character) {
    const [base, ...marks] = parts.map(replacementOf);
    return base === undefined ? undefined : [base, ...marks].join('');
  }
  return /^[\p{L}\p{N}]$/u.test(character) ? undefined : '.';
}

/**
 * Writes a text in the characters of every bank. A letter without a counterpart is left out. No slash is at either end or beside another
 * (EPC132-08, 2023, section 1.4). The text may be empty afterwards.
 */
export function transliterate(text: string): string {
  const written = [...text.normalize('NFC')].map((character) => replacementOf(character) ?? '').join('');
  return trimmed(written.replace(/\/{2,}/g, '/'));
}

/** The first characters of a transliterated text, up to a limit. */
export const shortened = (text: string, lengthMax: number): string => trimmed(text.slice(0, lengthMax));

const trimmed = (text: string) => text.replace(/ {2,}/g, ' ').replace(/^[/ ]+|[/ ]+$/g, '');

/**
 * Whether a name is still that name after `transliterate`: it keeps more than two thirds of its letters, and a letter or a digit. A bank of
 * the payee compares names, so money that leaves with another one comes back late or arrives elsewhere.
 */
export function isRecognizable(name: string): boolean {
  const letters = [...name.normalize('NFC')].filter((character) => /^\p{L}$/u.test(character));
  const lost = letters.filter((letter) => replacementOf(letter) === undefined).length;
  return lost * 3 < Math.max(letters.length, 1) && /[A-Za-z0-9]/.test(transliterate(name));
}
