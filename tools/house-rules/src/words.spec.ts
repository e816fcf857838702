import { retiredWordsIn } from '../lint/plain-words.mjs';
import { RETIRED_WORDS } from '../lint/retired-words.mjs';
import { files, read } from './workspace.js';

/** Read as a whole. Code is checked by the lint rule, which knows names, comments and strings. */
const TEXT = /\.(?:md|sql|html|css|ya?ml|jsonc)$|^\.ci\//;
/** Inline code of Markdown quotes names, such as a former name or a user of the operating system. */
const INLINE_CODE = /`[^`\n]+`/g;
/** Change logs state what was released. */
const RELEASED = /(?:^|\/)CHANGELOG\.md$/;

const isFixed = (file: string): boolean => RELEASED.test(file);

/** The text of a file that is checked: its prose, or the descriptions in a JSON document, such as a package. */
function proseOf(file: string): string {
  if (file.endsWith('.json')) return descriptionsIn(JSON.parse(read(file))).join('\n');
  if (file.endsWith('.md')) return read(file).replace(INLINE_CODE, (code) => ' '.repeat(code.length));
  return TEXT.test(file) ? read(file) : '';
}

function descriptionsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (typeof inner !== 'string') return descriptionsIn(inner);
    return ['description', 'summary', 'title'].includes(key) ? [inner] : [];
  });
}

describe('the words of the repository', () => {
  it.each([
    ['texts', proseOf],
    ['names of files and folders', (file: string) => file],
  ])('leave retired words out of the %s', (_, textOf) => {
    const reported = files()
      .filter((file) => !isFixed(file))
      .flatMap((file) => {
        const text = textOf(file);
        return retiredWordsIn(text).map(
          ({ index, word, write }) => `${file}:${text.slice(0, index).split('\n').length} "${word}" → ${write}`,
        );
      });

    expect(reported).toEqual([]);
  });

  it('are read in prose and descriptions', () => {
    expect(proseOf('CONTRIBUTING.md')).not.toContain('house/plain-words');
    expect(proseOf('package.json')).toContain('banking transfer service');
  });
});

describe('retiredWordsIn', () => {
  const phrases = RETIRED_WORDS.flatMap(({ forms, places }) =>
    forms.map((form) => ({ form, place: places ?? 'everywhere' }) as const),
  );
  const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

  it.each(phrases)('reports "$form" in each spelling', ({ form, place }) => {
    const words = form.split(' ');
    const spellings = [
      `the ${form}.`,
      `${capital(form)}: a sentence`,
      words.join('-'),
      words.join('_').toUpperCase(),
      `order${words.map(capital).join('')}s`.replace(/s$/, ''),
      `${words[0]}${words.slice(1).map(capital).join('')}Order`,
      words.join('\n * '),
    ];

    const found = spellings.map((text) => retiredWordsIn(text, place));
    expect(found.map((one) => one.length)).toEqual(spellings.map(() => 1));
  });

  it.each(RETIRED_WORDS.flatMap(({ standard = [] }) => standard))('accepts "%s", a standard term', (phrase) => {
    const camel = phrase.replace(/ ([a-z])/g, (_, letter: string) => letter.toUpperCase());

    expect([phrase, camel].flatMap((text) => retiredWordsIn(`the ${text} of it`))).toEqual([]);
  });

  it.each(['recommend', 'mushroom', 'washing', 'spreadsheet', 'shearing', 'wallet', 'doorstep', 'whole', 'butterfly'])(
    'accepts "%s", which only contains a retired word',
    (word) => {
      expect(retiredWordsIn(word)).toEqual([]);
    },
  );

  it('reports the position of each word and what to write instead', () => {
    expect(retiredWordsIn('a client comes again to the desk')).toEqual([
      { index: 9, word: 'comes again', write: '"retry"' },
      { index: 28, word: 'desk', write: '"service" or "queue"' },
    ]);
  });

  it('reports some words in strings only', () => {
    expect(retiredWordsIn('a bug')).toEqual([]);
    expect(retiredWordsIn('a bug', 'strings')).toEqual([{ index: 0, word: 'a bug', write: '"unhandled error"' }]);
  });
});
