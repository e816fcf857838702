/** What makes a method a route, in the words of `@nestjs/common`. */
const ROUTES = new Set([
  ...['All', 'Copy', 'Delete', 'Get', 'Head', 'Lock', 'Mkcol', 'Move', 'Options', 'Patch', 'Post', 'Propfind'],
  ...['Proppatch', 'Put', 'RequestMapping', 'Search', 'Sse', 'Unlock'],
]);
const OPERATION_DECORATOR = /(?:^|\/)operation\.decorator\.js$/;

/**
 * Who may call a route is said where the route is: `@Operation('getTransfer', …)` names the operation, and the matrix of
 * access has its row. In a controller every decorated method is taken for a route, so that a decorator which hides `@Get`
 * inside itself hides nothing; in any other class those that are routes by name, whatever the import calls them.
 */
export default {
  meta: {
    type: 'problem',
    docs: { description: 'Ask of every route which operation it is, and so who may call it.' },
    schema: [],
    messages: {
      undeclared:
        "Nothing says who may call this route. Add @Operation('{{name}}', …) from access/operation.decorator.ts, and a row to libs/domain/src/operations.ts.",
      unnamed:
        'Name the operation in quotes, as the table of operations does: what is computed can not be looked up by a reader.',
    },
  },

  create(context) {
    const isOf = (node, module, names) => {
      const origin = originOf(context, node instanceof Object && node.type === 'CallExpression' ? node.callee : node);
      return origin !== undefined && module(origin.module) && names(origin.name);
    };
    const isNest = (module) => module === '@nestjs/common';
    const isController = ({ expression }) => isOf(expression, isNest, (name) => name === 'Controller');
    const isRoute = ({ expression }) => isOf(expression, isNest, (name) => ROUTES.has(name));
    const isOperation = ({ expression }) =>
      expression.type === 'CallExpression' &&
      isOf(
        expression,
        (module) => OPERATION_DECORATOR.test(module),
        (name) => name === 'Operation',
      );

    return {
      'MethodDefinition, PropertyDefinition'(member) {
        const { decorators } = member;
        const isTaken = member.parent.parent.decorators.some(isController) && member.type === 'MethodDefinition';
        if (!(isTaken && decorators.length > 0) && !decorators.some(isRoute)) return;
        const operation = decorators.find(isOperation);
        if (operation === undefined) {
          context.report({ node: decorators[0], messageId: 'undeclared', data: { name: nameOf(member.key) } });
        } else if (operation.expression.arguments[0]?.type !== 'Literal') {
          context.report({ node: operation, messageId: 'unnamed' });
        }
      },
    };
  },
};

/** Where a name comes from: through imports under another name, namespaces and variables that only rename. */
function originOf(context, node) {
  if (node?.type === 'MemberExpression') {
    const from = originOf(context, node.object);
    const name = node.computed ? node.property.value : node.property.name;
    return from?.name === '*' ? { module: from.module, name } : undefined;
  }
  if (node?.type !== 'Identifier') return undefined;
  const [definition] = variableOf(context, node)?.defs ?? [];
  if (definition?.type === 'ImportBinding') {
    const module = definition.parent.source.value;
    const imported = definition.node.imported;
    return { module, name: imported === undefined ? '*' : (imported.name ?? imported.value) };
  }
  if (definition?.type !== 'Variable' || definition.node.init === null) return undefined;
  const { id, init } = definition.node;
  if (id.type === 'Identifier') return originOf(context, init);
  const property = id.properties?.find(({ value }) => value?.name === node.name);
  const from = originOf(context, init);
  return property && from?.name === '*' ? { module: from.module, name: property.key.name } : undefined;
}

function variableOf(context, node) {
  for (let scope = context.sourceCode.getScope(node); scope; scope = scope.upper) {
    const variable = scope.set.get(node.name);
    if (variable) return variable;
  }
  return undefined;
}

function nameOf(key) {
  return key.name ?? String(key.value);
}
