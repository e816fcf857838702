/** Words a table of PostgreSQL can not be called without quotes (its manual, appendix C). */
const RESERVED = new Set(
  `all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create default
  deferrable desc distinct do else end except false fetch for foreign from grant group having in initially intersect into
  lateral leading limit not null offset on only or order placing primary references returning select session symmetric table
  then to trailing true union unique user using variadic when where window with`.split(/\s+/),
);

/** What is wrong with a name, in a sentence; undefined for a good one. */
export function mistakeInName(name) {
  if (!/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(name) || name.length > 40) {
    return `'${name}' is no name: write a noun in the singular, in small letters with dashes, as in standing-order`;
  }
  if (RESERVED.has(name)) return `'${name}' is a word of SQL, and no table can have it: find a longer one`;
  return undefined;
}

/** One name as every place spells it: `standing-order` is StandingOrder, standingOrder, standing_order, STANDING_ORDER. */
export function spellingsOf(name, plural = pluralOf(name)) {
  const words = name.split('-');
  const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);
  const pascal = words.map(capital).join('');
  const manyPascal = plural.split('-').map(capital).join('');
  return {
    kebab: name,
    manyKebab: plural,
    pascal,
    manyPascal,
    camel: pascal.charAt(0).toLowerCase() + pascal.slice(1),
    snake: words.join('_'),
    shout: words.join('_').toUpperCase(),
    spoken: words.join(' '),
    manySpoken: plural.split('-').join(' '),
    a: /^[aeiou]/.test(name) ? 'an' : 'a',
  };
}

function pluralOf(name) {
  if (/[^aeiou]y$/.test(name)) return `${name.slice(0, -1)}ies`;
  return /(?:s|x|z|ch|sh)$/.test(name) ? `${name}es` : `${name}s`;
}
