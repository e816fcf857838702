/** Comments, bodies of functions and strings: none of them is a statement of the migration itself. */
const NOT_STATEMENTS = /--[^\n]*|\/\*[\s\S]*?\*\/|\$([a-z_]*)\$[\s\S]*?\$\1\$|'(?:[^']|'')*'/gi;

/** The statements of a migration on one line each, in lower case, without comments. Bodies of functions and strings are empty. */
export function statementsOf(text: string): string[] {
  return text
    .replace(NOT_STATEMENTS, (match) => (/^(?:--|\/\*)/.test(match) ? ' ' : `''`))
    .split(';')
    .map((statement) => statement.replace(/\s+/g, ' ').trim().toLowerCase())
    .filter((statement) => statement !== '');
}

/** The parts of a list, split at the commas outside of parentheses. */
export function partsOf(list: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const character of list) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim());
}
