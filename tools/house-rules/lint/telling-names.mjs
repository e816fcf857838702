import { relative } from 'node:path';

/** A folder or file with such a name can contain anything, and soon does. */
const EMPTY = new Set([
  ...['base', 'common', 'constants', 'core', 'general', 'generic', 'helper', 'helpers', 'interface', 'interfaces'],
  ...[
    'lib',
    'misc',
    'miscellaneous',
    'other',
    'shared',
    'stuff',
    'tools',
    'type',
    'types',
    'util',
    'utils',
    'utilities',
  ],
]);
/** These say nothing inside a longer name either: `string-utils` is what else there is about strings. */
const EMPTY_INSIDE = new Set(['common', 'helper', 'helpers', 'misc', 'shared', 'stuff', 'util', 'utils', 'utilities']);

/**
 * The folders and the file in a path from the top of the workspace that do not say what is in them; those at the top
 * are the workspace's own. A spec is called after what it tests, which may well be types.
 */
export function emptyNamesIn(path) {
  const names = path.split(/[\\/]/);
  const file = names.pop() ?? '';
  const folders = names.slice(1).filter(isEmpty);
  return /\.spec\.[cm]?[jt]sx?$/.test(file) || !isEmpty(stemOf(file)) ? folders : [...folders, file];
}

function stemOf(file) {
  return file.replace(/(?<=.)\.[^.]*$/, '');
}

function isEmpty(name) {
  return name
    .toLowerCase()
    .split('.')
    .some((part) => EMPTY.has(part) || part.split(/[-_]/).some((word) => EMPTY_INSIDE.has(word)));
}

export default {
  meta: {
    type: 'problem',
    docs: { description: 'Refuse folders and files whose names do not say what is in them.' },
    schema: [],
    messages: {
      empty:
        '"{{name}}" does not say what is in it. Call it after its one sentence: the verb of what it does, or the noun of what it is.',
    },
  },

  create(context) {
    return {
      Program(node) {
        for (const name of emptyNamesIn(relative(context.cwd, context.filename))) {
          context.report({ node, loc: { line: 1, column: 0 }, messageId: 'empty', data: { name } });
        }
      },
    };
  },
};
