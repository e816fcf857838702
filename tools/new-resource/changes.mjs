import { tagOf } from './new-files.mjs';

/**
 * What a resource adds to the files there are: by path, a function from the text to the new one.
 *
 * @throws Error when a file has no longer the place that is looked for; then this file is to be mended.
 */
export function changes(word) {
  const { pascal, manyPascal, camel, snake, kebab, manyKebab, spoken, manySpoken, a } = word;
  const method = `get${pascal}`;
  const scoped = `scope: Scope, { ${camel}Id }: { readonly ${camel}Id: ${pascal}Id }`;
  return {
    'libs/domain/src/ids.ts': into(before('\n/** The largest id', `export type ${pascal}Id = Id<'${pascal}'>;\n`)),
    'libs/domain/src/index.ts': into(
      before('\n// What they are made of', `export * from './resources/${kebab}.js';\n`),
    ),
    'libs/domain/src/refusal-rows/denied.ts': into(
      before(
        '  country_unknown: {',
        `  ${snake}_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'The workspace has no ${spoken} with this id.',
  },
`,
      ),
    ),
    'libs/domain/src/refusal-actions.ts': into(
      before('  country_unknown:', `  ${snake}_not_found: 'Check the id of the ${spoken} and the Workspace-ID.',\n`),
    ),
    'libs/domain/src/banking-service.ts': into(
      imported('./ids.js', `${pascal}Id`),
      before('\n/**\n * The port:', `import type { ${pascal} } from './resources/${kebab}.js';\n`),
      beforeLast(
        '}\n',
        `
  /**
   * GET /${manyKebab}/{${camel}Id}: one ${spoken} of the workspace.
   *
   * @throws Refusal \`${snake}_not_found\` for one that is not there or that is another workspace's.
   */
  abstract ${method}(scope: Scope, query: { readonly ${camel}Id: ${pascal}Id }): Promise<${pascal}>;
`,
      ),
    ),
    'libs/operations/src/ledger-banking-service.ts': into(
      imported('@banking/domain', `type ${pascal}`, `type ${pascal}Id`),
      before('\n/** The port answered', `import { ${method} } from './get-${kebab}.js';\n`),
      before(
        '}\n\n/** A scope without',
        `
  ${method}(${scoped}): Promise<${pascal}> {
    return ${method}(this.database, required(scope.workspaceId), ${camel}Id);
  }
`,
      ),
    ),
    'libs/client/src/banking-client.ts': into(
      imported('@banking/domain', `type ${pascal}`, `type ${pascal}Id`),
      before(
        '  /** The same operations with the workspace said once',
        `  async ${method}(${scoped}, options?: CallOptions): Promise<${pascal}> {
    const path = \`${manyKebab}/\${digits(${camel}Id)}\`;
    return this.#calls.one('${method}', inWorkspace(scope), path, options, ${camel}Id);
  }

`,
      ),
    ),
    'apps/api/src/access/matrix.ts': into(before('  getLiveness:', `  ${method}: 'member',\n`)),
    'apps/api/src/app.module.ts': into(
      before(
        '\n/** What the service is made of',
        `import { ${manyPascal}Controller } from './${manyKebab}/${manyKebab}.controller.js';\n`,
      ),
      before('  HealthController,\n];', `  ${manyPascal}Controller,\n`),
    ),
    'apps/api/src/docs/openapi.ts': into(
      before(`    .addTag('Health'`, `    .addTag('${tagOf(manySpoken)}', 'The ${manySpoken} of a workspace.')\n`),
    ),
    'docs/flows.md': into(
      before(
        '### `GET /health/live`',
        `### \`GET /${manyKebab}/{${camel}Id}\`

1. [\`${manyKebab}.controller.ts\`](../apps/api/src/${manyKebab}/${manyKebab}.controller.ts); the id is read by [\`id.pipe.ts\`](../apps/api/src/http/id.pipe.ts).
2. [\`get-${kebab}.ts\`](../libs/operations/src/get-${kebab}.ts): ${a} ${spoken} of the workspace.
3. [\`${kebab}.dto.ts\`](../apps/api/src/${manyKebab}/${kebab}.dto.ts).

`,
      ),
    ),
  };
}

function into(...steps) {
  return (text) => steps.reduce((so, step) => step(so), text);
}

function before(place, addition) {
  return (text) => insertAt(text, text.indexOf(place), addition, place);
}

function beforeLast(place, addition) {
  return (text) => insertAt(text, text.lastIndexOf(place), addition, place);
}

function insertAt(text, index, addition, place) {
  if (index < 0) throw new Error(`there is no "${place.trim()}" any more: mend tools/new-resource/changes.mjs`);
  return text.slice(0, index) + addition + text.slice(index);
}

/** Adds names to the one import from a module. */
function imported(module, ...names) {
  return (text) => {
    const found = new RegExp(`(import (?:type )?\\{[^}]*?),?\\s*(\\} from '${module}';)`).exec(text);
    if (!found) throw new Error(`nothing is imported from ${module} any more: mend tools/new-resource/changes.mjs`);
    const [whole, opening, ending] = found;
    return text.replace(whole, () => `${opening}, ${names.join(', ')} ${ending}`);
  };
}
