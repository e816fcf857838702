/** A name with one of these words is money, unless it ends in one of OTHER_WORDS. */
const MONEY_WORDS = new Set(['amount', 'balance', 'cent', 'fee', 'minor', 'money', 'price']);
const OTHER_WORDS = new Set([
  'code',
  'count',
  'currency',
  'date',
  'decimal',
  'id',
  'index',
  'key',
  'kind',
  'length',
  'name',
  'type',
  'version',
]);

const BRANDS = new Set(['MinorUnits', 'TransferAmount', 'BalanceAmount']);
const READERS = new Set(['parseFloat', 'parseInt']);
const FORMATTERS = new Set(['toExponential', 'toFixed', 'toPrecision']);
const ARITHMETIC = new Set(['+', '-', '*', '/', '%', '**']);
const ITERATORS = new Set(['flatMap', 'forEach', 'from', 'map', 'reduce']);

/**
 * Money is never a float: above 2^53 a `number` loses units, and below it `0.1 + 0.2` does. What the types know to be
 * money (`MinorUnits`, the amounts as they travel, any `bigint` that is not called an id or the like) and what is only
 * called so may not become a `number`, be rounded as one, or be calculated with as one.
 */
export default {
  meta: {
    type: 'problem',
    docs: { description: 'Refuse to make a number of money.' },
    schema: [],
    messages: {
      number:
        '{{how}} makes a number of money, and numbers lose units. Read it with parseTransferAmount or fromBalanceAmount, calculate in MinorUnits, and show it with formatAmount or toDecimal (@banking/domain).',
      arithmetic:
        'This calculates money as a number, which rounds. Calculate in MinorUnits (@banking/domain): add, subtract, split, convert.',
    },
  },

  create(context) {
    const services = context.sourceCode.parserServices;
    const typeOf = (node) => services.getTypeAtLocation(node);
    const isMoney = (node) =>
      isBranded(typeOf(node)) ||
      (isBigInt(typeOf(node)) && !isCalledOther(node)) ||
      (isCalledMoney(node) && !isOtherType(typeOf(node)));
    const holdsMoney = (node) => partsOf(node).some((part) => isMoney(part));
    const isListOfMoney = (node) => isCalledMoney(node) || (typeOf(node).typeArguments ?? []).some(isBranded);
    const report = (node, how) => context.report({ node, messageId: 'number', data: { how } });

    return {
      CallExpression(node) {
        const [first] = node.arguments;
        if (node.callee.type === 'MemberExpression') {
          const { object, property } = node.callee;
          if (FORMATTERS.has(property.name) && holdsMoney(object)) return report(node, `${property.name}()`);
          if (ITERATORS.has(property.name)) {
            const list = property.name === 'from' ? first : object;
            const reader = node.arguments.find((argument) => readerOf(typeOf(argument)));
            if (reader && list && isListOfMoney(list)) return report(node, `${readerOf(typeOf(reader))}()`);
          }
        }
        const reader = readerOf(typeOf(node.callee)) ?? roundingOf(node.callee, typeOf);
        if (reader !== undefined && node.arguments.some(holdsMoney)) report(node, `${reader}()`);
      },
      NewExpression(node) {
        if (readerOf(typeOf(node.callee)) === 'Number' && node.arguments.some(holdsMoney)) report(node, 'new Number()');
      },
      UnaryExpression(node) {
        if (node.operator === '+' && holdsMoney(node.argument)) report(node, 'A plus sign');
        if (node.operator === '~' && holdsMoney(node.argument)) report(node, '~');
      },
      BinaryExpression(node) {
        if (ARITHMETIC.has(node.operator) && isCalculatedAsNumber(node.left, node.right)) {
          context.report({ node, messageId: 'arithmetic' });
        }
      },
      AssignmentExpression(node) {
        if (ARITHMETIC.has(node.operator.slice(0, -1)) && isCalculatedAsNumber(node.left, node.right)) {
          context.report({ node, messageId: 'arithmetic' });
        }
      },
    };

    /** Joining text with `+` is no calculation, and a `bigint` is exact. */
    function isCalculatedAsNumber(left, right) {
      const sides = [left, right];
      return sides.some((side) => isCalledMoney(side)) && sides.every((side) => isNumberType(typeOf(side)));
    }
  },
};

/** What a value is made of: through casts, texts, signs and sums, none of which makes it less money. */
function partsOf(node) {
  switch (node.type) {
    case 'TSAsExpression':
    case 'TSNonNullExpression':
    case 'TSSatisfiesExpression':
    case 'TSTypeAssertion':
    case 'ChainExpression':
    case 'AwaitExpression':
      return [node, ...partsOf(node.expression ?? node.argument)];
    case 'UnaryExpression':
      return node.operator === 'typeof' ? [] : partsOf(node.argument);
    case 'BinaryExpression':
      return ARITHMETIC.has(node.operator) ? [...partsOf(node.left), ...partsOf(node.right)] : [];
    case 'LogicalExpression':
      return [...partsOf(node.left), ...partsOf(node.right)];
    case 'ConditionalExpression':
      return [...partsOf(node.consequent), ...partsOf(node.alternate)];
    case 'TemplateLiteral':
      return node.expressions.flatMap(partsOf);
    case 'CallExpression':
      if (node.callee.name === 'String') return node.arguments.flatMap(partsOf);
      if (node.callee.property?.name === 'toString') return partsOf(node.callee.object);
      return [node];
    default:
      return [node];
  }
}

function isCalledMoney(node) {
  return wordsOf(node).some((word) => MONEY_WORDS.has(word)) && !isCalledOther(node);
}

function isCalledOther(node) {
  return OTHER_WORDS.has(wordsOf(node).at(-1));
}

/** The words of a name, each in the singular: `feeAmounts` is fee, amount. */
function wordsOf(node) {
  const words = nameOf(node)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[\s_]+/);
  return words.map((word) => word.replace(/s$/, ''));
}

function nameOf(node) {
  if (node.type === 'Identifier') return node.name;
  if (node.type === 'MemberExpression') return String(node.property.name ?? node.property.value ?? '');
  if (node.type === 'CallExpression') return nameOf(node.callee);
  if (node.type === 'ChainExpression' || node.type === 'TSNonNullExpression') return nameOf(node.expression);
  return '';
}

function isBranded(type) {
  if (BRANDS.has(type.aliasSymbol?.name)) return true;
  return type.isUnionOrIntersection() && type.types.some(isBranded);
}

function isBigInt(type) {
  if (type.isUnionOrIntersection()) return type.types.some(isBigInt);
  return type.intrinsicName === 'bigint' || typeof type.value === 'object';
}

/** Called money, but known to be something else: a record, a list, a function, a flag. */
function isOtherType(type) {
  if (type.isUnion()) return type.types.every(isOtherType);
  if (type.isIntersection()) return type.types.every(isOtherType);
  return !['any', 'unknown', 'string', 'number'].includes(type.intrinsicName) && !isLiteral(type);
}

function isNumberType(type) {
  if (type.isUnionOrIntersection()) return type.types.some(isNumberType);
  return ['any', 'number'].includes(type.intrinsicName) || typeof type.value === 'number';
}

function isLiteral(type) {
  return type.isStringLiteral() || type.isNumberLiteral();
}

/** `Number`, `parseFloat` or `parseInt`, by whatever name and way one comes to them. */
function readerOf(type) {
  if (type.symbol?.name === 'NumberConstructor') return 'Number';
  return READERS.has(type.symbol?.name) ? type.symbol.name : undefined;
}

function roundingOf(callee, typeOf) {
  if (callee.type !== 'MemberExpression') return undefined;
  return typeOf(callee.object).symbol?.name === 'Math' ? `Math.${callee.property.name}` : undefined;
}
