/** Key words of SQL that cannot name a table without quotes (PostgreSQL manual, appendix C). */
const RESERVED = new Set(
  `all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create default
  deferrable desc distinct do else end except false fetch for foreign from grant group having in initially intersect into
  lateral leading limit not null offset on only or order placing primary references returning select session symmetric table
  then to trailing true union unique user using variadic when where window with`.split(/\s+/),
);

/** The mistake in a name, as a sentence; undefined for a valid one. */
function mistakeInName(name) {
  if (!/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(name) || name.length > 40) {
    return `'${name}' is not a valid name. Write small letters and dashes, at most 40, as in standing-order.`;
  }
  if (RESERVED.has(name)) return `'${name}' is a key word of SQL and cannot name a table. Choose a longer name.`;
  return undefined;
}

/** The spellings of a name: standing-order, StandingOrder, standingOrder, standing_order, STANDING_ORDER, and the plurals. */
function spellingsOf(name, plural = pluralOf(name)) {
  const words = name.split('-');
  const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);
  const pascal = words.map(capital).join('');
  const manySpoken = plural.split('-').join(' ');
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
    manySpoken,
    tag: manySpoken.charAt(0).toUpperCase() + manySpoken.slice(1),
    a: /^[aeiou]/.test(name) ? 'an' : 'a',
    A: /^[aeiou]/.test(name) ? 'An' : 'A',
  };
}

function pluralOf(name) {
  if (/[^aeiou]y$/.test(name)) return `${name.slice(0, -1)}ies`;
  return /(?:s|x|z|ch|sh)$/.test(name) ? `${name}es` : `${name}s`;
}

module.exports = { mistakeInName, spellingsOf };
