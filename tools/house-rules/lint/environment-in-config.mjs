const PROCESS_MODULE = /^(?:node:)?process$/;

/**
 * One file of an app, `config.ts`, reads the environment, and hands out what it found as typed arguments. So what a
 * deployment can set is read in one place, and a mistake in it is said before anything starts. Asked by type: it makes no
 * difference by what name or way one comes to the process.
 */
export default {
  meta: {
    type: 'problem',
    docs: { description: 'Refuse to read the environment outside of config.ts.' },
    schema: [],
    messages: { environment: 'Only config.ts reads the environment: take what you need as an argument.' },
  },

  create(context) {
    const services = context.sourceCode.parserServices;
    const isProcess = (node) => {
      const type = services.getTypeAtLocation(node);
      return [type, ...(type.types ?? [])].some((one) => one.symbol?.name === 'Process' && isOfNode(one.symbol));
    };
    const isEnv = (key, computed) => {
      if (!computed) return (key.name ?? key.value) === 'env';
      const type = services.getTypeAtLocation(key);
      return type.isStringLiteral() && type.value === 'env';
    };
    const report = (node) => context.report({ node, messageId: 'environment' });

    return {
      MemberExpression(node) {
        if (isEnv(node.property, node.computed) && isProcess(node.object)) report(node);
      },
      ObjectPattern(pattern) {
        for (const property of pattern.properties) {
          if (property.type === 'Property' && isEnv(property.key, property.computed) && isProcess(pattern)) {
            report(property);
          }
        }
      },
      'ImportSpecifier, ExportSpecifier'(node) {
        const name = node.type === 'ImportSpecifier' ? node.imported : node.local;
        if (PROCESS_MODULE.test(node.parent.source?.value ?? '') && isEnv(name, false)) report(node);
      },
    };
  },
};

function isOfNode(symbol) {
  return symbol.declarations?.some((declaration) =>
    /[\\/]@types[\\/]node[\\/]/.test(declaration.getSourceFile().fileName),
  );
}
