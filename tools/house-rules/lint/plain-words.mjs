import { relative } from 'node:path';
import { PUBLISHED_NAMES, RETIRED_WORDS } from './retired-words.mjs';

/** Between the words of a phrase: separators, a line break inside of a comment, or nothing before a capital letter. */
const SEPARATOR = String.raw`(?:[-_\s*#]+|(?=[A-Z]))`;

const ENTRIES = RETIRED_WORDS.map(({ forms, write, standard = [], places = 'everywhere' }) => ({
  forms: patternOf(forms),
  standard: patternOf([...standard, ...PUBLISHED_NAMES]),
  write: write.map((word) => `"${word}"`).join(' or '),
  places,
}));

/** True for few texts, so that most are matched once. */
const ANY = new RegExp(
  RETIRED_WORDS.flatMap(({ forms }) => forms.map((form) => form.replaceAll(' ', String.raw`[-_\s*#]*`))).join('|'),
  'i',
);

/**
 * The retired words in a text, in order of their position. The parts of a camel-case or upper-case name
 * count as words.
 *
 * @param {'strings' | 'everywhere'} place `strings` adds the words that are refused in literals only
 */
export function retiredWordsIn(text, place = 'everywhere') {
  if (!ANY.test(text)) return [];
  return ENTRIES.filter(({ places }) => places === 'everywhere' || places === place)
    .flatMap(({ forms, standard, write }) => {
      const allowed = [...text.matchAll(standard)].map((match) => [match.index, match.index + match[0].length]);
      return [...text.matchAll(forms)]
        .filter(({ index }) => !allowed.some(([from, to]) => index >= from && index < to))
        .map(({ index, 0: word }) => ({ index, word, write }));
    })
    .sort((a, b) => a.index - b.index);
}

/** Matches whole words, also as parts of a camel-case name. */
function patternOf(phrases) {
  const alternatives = phrases.map((phrase) => {
    const words = phrase.split(' ').map((word) => {
      const [first, rest] = [word[0], word.slice(1)];
      return `(?:[${first}${first.toUpperCase()}]${rest}|${word.toUpperCase()}(?![A-Z]))`;
    });
    return `(?:(?<![A-Za-z])|(?<=[a-z0-9])(?=[A-Z]))${words.join(SEPARATOR)}(?![a-z])`;
  });
  return new RegExp(alternatives.join('|'), 'g');
}

const IMPORTS = new Set([
  ...['ImportDeclaration', 'ImportExpression', 'ExportAllDeclaration', 'ExportNamedDeclaration'],
  ...['TSExternalModuleReference', 'TSImportType'],
]);

export default {
  meta: {
    type: 'problem',
    docs: { description: 'Refuse the words that have a standard term, in names, comments and messages.' },
    schema: [],
    messages: { retired: '"{{word}}" is not used here: write {{write}}.' },
  },

  create(context) {
    const { sourceCode } = context;
    const namesSeen = new Set();

    /** `start` is the index of the text in the file; without it the name of the file is reported. */
    const report = (text, start, place) => {
      for (const { index, word, write } of retiredWordsIn(text, place)) {
        const at = start === undefined ? { line: 1, column: 0 } : sourceCode.getLocFromIndex(start + index);
        context.report({ loc: at, messageId: 'retired', data: { word: word.replace(/[\s*]+/g, ' '), write } });
      }
    };
    const reportString = (node) => {
      if (!IMPORTS.has(node.parent.type)) report(sourceCode.getText(node), node.range[0], 'strings');
    };

    return {
      Program() {
        report(relative(context.cwd, context.filename));
        for (const { value, range } of sourceCode.getAllComments()) report(value, range[0] + 2);
      },
      // A name is reported where it first stands in a file, else one renaming would be a hundred messages.
      'Identifier, PrivateIdentifier'({ name, range, type }) {
        if (namesSeen.has(name)) return;
        namesSeen.add(name);
        report(name, range[0] + (type === 'PrivateIdentifier' ? 1 : 0));
      },
      'Literal[raw=/^["\']/]': reportString,
      TemplateElement: reportString,
    };
  },
};
