/** The end of an import, on one line or on several. */
const IMPORT = /^(?:import .*|\} from .*);(?: \/\/.*)?$/gm;

/**
 * The entries of a resource in the files that list resources: by path, a function from the text and the spellings to the
 * new text.
 *
 * @throws Error when a file has no longer the line that an entry is added before
 */
const CHANGES = {
  'libs/domain/src/ids.ts': adds(
    afterLast(/^export type \w+Id = .*;$/gm, ({ pascal }) => `export type ${pascal}Id = Id<'${pascal}'>;`),
  ),
  'libs/domain/src/index.ts': adds(
    afterLast(/^export \* from '\.\/resources\/.*;$/gm, ({ kebab }) => `export * from './resources/${kebab}.js';`),
  ),
  'libs/domain/src/refusal-rows/denied.ts': adds(
    before(
      '  country_unknown: {',
      ({ snake, spoken }) => `  ${snake}_not_found: {
    status: 404,
    message: 'The workspace has no ${spoken} with this id.',
    action: 'Check the id of the ${spoken} and the Workspace-ID.',
  },
`,
    ),
  ),
  'libs/domain/src/banking-service.ts': adds(
    imported('./ids.js', ({ pascal }) => [`${pascal}Id`]),
    afterLast(IMPORT, ({ pascal, kebab }) => `import type { ${pascal} } from './resources/${kebab}.js';`),
    inClass(
      ({ pascal, camel, snake, spoken, manyKebab }) => `
  /**
   * GET /${manyKebab}/{${camel}Id}: one ${spoken} of the workspace.
   *
   * @throws Refusal \`${snake}_not_found\` when the workspace has none with this id.
   */
  abstract get${pascal}(scope: Scope, query: { readonly ${camel}Id: ${pascal}Id }): Promise<${pascal}>;
`,
    ),
  ),
  'libs/operations/src/ledger-banking-service.ts': adds(
    afterLast(
      IMPORT,
      ({ pascal, kebab, manyKebab }) => `import { get${pascal} } from './${manyKebab}/get-${kebab}.js';`,
    ),
    inClass(
      (names) => `
  get${names.pascal}(${parameters(names, 'port.')}): Promise<port.${names.pascal}> {
    return get${names.pascal}(this.reading, required(scope.workspaceId), ${names.camel}Id);
  }
`,
    ),
  ),
  'libs/deployment/src/cells/cells-banking-service.ts': adds(
    inClass(
      ({ pascal, camel }) => `
  get${pascal}(scope: Scope, query: { readonly ${camel}Id: port.${pascal}Id }): Promise<port.${pascal}> {
    return this.inCell(scope, (banking) => banking.get${pascal}(scope, query));
  }
`,
    ),
  ),
  'libs/client/src/remote-banking-service.ts': adds(
    imported('@banking/domain', ({ pascal }) => [`type ${pascal}`, `type ${pascal}Id`]),
    inClass(
      (names) => `
  async get${names.pascal}(${parameters(names)}, options?: CallOptions): Promise<${names.pascal}> {
    const path = \`${names.manyKebab}/\${digits(${names.camel}Id)}\`;
    return this.#calls.get('get${names.pascal}', inWorkspace(scope), path, options, ${names.camel}Id);
  }
`,
    ),
  ),
  'apps/api/src/access/access-matrix.ts': adds(before('  getLiveness:', ({ pascal }) => `  get${pascal}: 'member',\n`)),
  'apps/api/src/app.module.ts': adds(
    afterLast(
      IMPORT,
      ({ manyPascal, manyKebab }) => `import { ${manyPascal}Module } from './${manyKebab}/${manyKebab}.module.js';`,
    ),
    before('  health,\n', ({ manyPascal }) => `  ${manyPascal}Module,\n`),
  ),
  'apps/api/src/docs/openapi.ts': adds(
    before(
      `    .addTag('Health'`,
      ({ tag, manySpoken }) => `    .addTag('${tag}', 'The ${manySpoken} of a workspace.')\n`,
    ),
  ),
  'docs/flows.md': adds(
    before(
      '### `GET /health/live`',
      ({ kebab, manyKebab, camel, spoken, a }) => `### \`GET /${manyKebab}/{${camel}Id}\`

1. [\`${manyKebab}.controller.ts\`](../apps/api/src/${manyKebab}/${manyKebab}.controller.ts), method \`get\`.
2. [\`get-${kebab}.ts\`](../libs/operations/src/${manyKebab}/get-${kebab}.ts) reads ${a} ${spoken} of the workspace.
3. [\`${kebab}.dto.ts\`](../apps/api/src/${manyKebab}/${kebab}.dto.ts) describes the response.

`,
    ),
  ),
};

const parameters = ({ pascal, camel }, from = '') =>
  `scope: Scope, { ${camel}Id }: { readonly ${camel}Id: ${from}${pascal}Id }`;

/** @param steps each takes the text, the spellings and the path, and returns the new text */
function adds(...steps) {
  return (text, spellings, file) => steps.reduce((so, step) => step(so, spellings, file), text);
}

function before(place, addition) {
  return (text, spellings, file) => insertAt(text, text.indexOf(place), addition(spellings), { place, file });
}

/** Adds a line after the last line that matches. */
function afterLast(pattern, addition) {
  return (text, spellings, file) => {
    const match = [...text.matchAll(pattern)].at(-1);
    const index = match === undefined ? -1 : match.index + match[0].length;
    return insertAt(text, index, `\n${addition(spellings)}`, { place: String(pattern), file });
  };
}

/** Adds members at the end of the first exported class. */
function inClass(addition) {
  return (text, spellings, file) => {
    const start = text.search(/^export (?:abstract )?class /m);
    const end = start < 0 ? start : text.indexOf('\n}\n', start);
    return insertAt(text, end < 0 ? end : end + 1, addition(spellings), { place: 'export class', file });
  };
}

function insertAt(text, index, addition, { place, file }) {
  if (index < 0) throw new Error(`${file} has no "${place.trim()}". Change tools/generators/src/resource/changes.cjs.`);
  return text.slice(0, index) + addition + text.slice(index);
}

/** Adds names to the one import from a module. */
function imported(module, names) {
  return (text, spellings, file) => {
    const match = new RegExp(`(import (?:type )?\\{[^}]*?),?\\s*(\\} from '${module}';)`).exec(text);
    if (!match)
      throw new Error(`${file} has no import of ${module}. Change tools/generators/src/resource/changes.cjs.`);
    const [whole, opening, ending] = match;
    return text.replace(whole, () => `${opening}, ${names(spellings).join(', ')} ${ending}`);
  };
}

module.exports = { CHANGES };
