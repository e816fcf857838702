import { retiredWordsIn } from '../lint/plain-words.mjs';
import { RETIRED_WORDS } from '../lint/retired-words.mjs';
import { files, read } from './workspace.js';

/** Read as a whole. Code is checked by the lint rule, which knows names, comments and strings. */
const TEXT = /\.(?:md|sql|html|css|ya?ml|jsonc)$|^\.ci\//;
/** Inline code of Markdown quotes names, such as a former name or a user of the operating system. */
const INLINE_CODE = /`[^`\n]+`/g;
const DESCRIBED = /\.json$/;
/** Change logs state what was released. */
const RELEASED = /(?:^|\/)CHANGELOG\.md$/;

const isFixed = (file: string): boolean => RELEASED.test(file);

/** The retired words in a text, each as `file:line "word" → "replacement"`. */
function reported(file: string, text: string): string[] {
  const prose = file.endsWith('.md') ? text.replace(INLINE_CODE, (code) => ' '.repeat(code.length)) : text;
  return retiredWordsIn(prose).map(({ index, word, write }) => {
    const line = text.slice(0, index).split('\n').length;
    return `${file}:${line} "${word}" → ${write}`;
  });
}

/** The descriptions in a JSON document, such as a package or the OpenAPI document, with a line for each. */
function descriptionsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    typeof inner === 'string'
      ? ['description', 'summary', 'title'].includes(key)
        ? [inner]
        : []
      : descriptionsIn(inner),
  );
}

describe('the words of the repository', () => {
  const open = files().filter((file) => !isFixed(file));

  it('leave retired words out of documents, SQL, pages and settings', () => {
    const texts = open.filter((file) => TEXT.test(file));

    expect(texts.length).toBeGreaterThan(50);
    expect(texts.flatMap((file) => reported(file, read(file)))).toEqual([]);
  });

  it('leave retired words out of the descriptions in JSON documents', () => {
    const documents = open.filter((file) => DESCRIBED.test(file));

    expect(documents.flatMap((file) => reported(file, descriptionsIn(JSON.parse(read(file))).join('\n')))).toEqual([]);
  });

  it('leave retired words out of the names of files and folders', () => {
    expect(open.flatMap((file) => reported(file, file))).toEqual([]);
  });
});

describe('reported', () => {
  it('reports a word in the prose of a document with its line, and ignores inline code', () => {
    expect(reported('a.md', 'The user `nobody`.\nA desk.')).toEqual(['a.md:2 "desk" → "service" or "queue"']);
    expect(reported('a.sql', '-- `desk`')).toHaveLength(1);
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

describe('descriptionsIn', () => {
  it('returns descriptions at every depth and no other text', () => {
    const document = { description: 'a', paths: [{ summary: 'b', operationId: 'c', title: { description: 'd' } }] };

    expect(descriptionsIn(document)).toEqual(['a', 'b', 'd']);
  });
});
