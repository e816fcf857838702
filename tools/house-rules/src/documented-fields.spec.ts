import { join } from 'node:path';
import ts from 'typescript';
import { files, ROOT } from './workspace.js';

const CANARY = join(ROOT, 'apps/api/src/orders/canary.ts');
const CANARY_TEXT = `import type { Order } from '@banking/domain';
const Documented = (): PropertyDecorator => () => undefined;
class EdgesDto { @Documented() readonly account?: object }
export class CanaryDto implements Pick<Order, 'id' | 'description' | 'metadata' | 'edges'> {
  @Documented() readonly id!: Order['id'];
  readonly metadata?: NonNullable<Order['metadata']>;
  @Documented() readonly edges!: EdgesDto;
}`;
const CANARY_FINDINGS = [
  'CanaryDto.description',
  'CanaryDto.metadata',
  'CanaryDto.edges.recipient',
  'CanaryDto.edges.executions',
];

const CLASSES = /\/apps\/api\/src\/(?!.*(\.spec\.ts$|\/testing\/)).*\.ts$/;

/** The service with the canary, as the compiler sees it. */
function compiled(): ts.Program {
  const { config } = ts.readConfigFile(join(ROOT, 'apps/api/tsconfig.build.json'), ts.sys.readFile) as {
    config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, join(ROOT, 'apps/api'));
  const host = ts.createCompilerHost(options);
  const [readFile, fileExists] = [host.readFile.bind(host), host.fileExists.bind(host)];
  host.readFile = (name) => (name === CANARY ? CANARY_TEXT : readFile(name));
  host.fileExists = (name) => name === CANARY || fileExists(name);
  const sources = files()
    .map((file) => join(ROOT, file))
    .filter((file) => CLASSES.test(file));
  return ts.createProgram([...sources, CANARY], options, host);
}

interface Findings {
  /** The fields of resources and inputs that no decorated property documents: the compiler does not ask for optional ones. */
  readonly undocumented: string[];
  /** The classes that were compared. */
  readonly compared: string[];
}

function findingsOf(program: ts.Program): Findings {
  const checker = program.getTypeChecker();
  const findings: Findings = { undocumented: [], compared: [] };

  /** A class of the service that documents a part of a resource, and implements nothing by itself. */
  const partOf = (type: ts.Type): ts.ClassLikeDeclaration | undefined => {
    const declared = type.getSymbol()?.valueDeclaration;
    if (!declared || !ts.isClassLike(declared) || !CLASSES.test(declared.getSourceFile().fileName)) return undefined;
    return implemented(declared).length === 0 ? declared : undefined;
  };
  const itemOf = (type: ts.Type): ts.Type => {
    const present = checker.getNonNullableType(type);
    return checker.isArrayType(present) ? checker.getTypeArguments(present as ts.TypeReference)[0]! : present;
  };
  const compare = (name: string, documented: ts.Type, type: ts.Type): void => {
    const fields = checker.getNonNullableType(type).getProperties();
    if (fields.length === 0) throw new Error(`${name} documents a type without fields`);
    findings.compared.push(name);
    for (const field of fields) {
      const own = checker.getPropertyOfType(documented, field.name);
      const declaration = own?.valueDeclaration;
      const isDecorated = declaration && ts.canHaveDecorators(declaration) && ts.getDecorators(declaration);
      if (own === undefined || !isDecorated) findings.undocumented.push(`${name}.${field.name}`);
      else {
        const part = itemOf(checker.getTypeOfSymbol(own));
        if (partOf(part)) compare(`${name}.${field.name}`, part, itemOf(checker.getTypeOfSymbol(field)));
      }
    }
  };
  const visit = (node: ts.Node): void => {
    if (ts.isClassDeclaration(node) && /Dto$/.test(node.name?.text ?? '')) {
      for (const type of implemented(node)) {
        compare(node.name!.text, checker.getTypeAtLocation(node), checker.getTypeAtLocation(type));
      }
    }
    ts.forEachChild(node, visit);
  };
  for (const source of program.getSourceFiles()) if (CLASSES.test(source.fileName)) visit(source);
  return findings;
}

const implemented = (node: ts.ClassLikeDeclaration): readonly ts.ExpressionWithTypeArguments[] =>
  (node.heritageClauses ?? []).flatMap(({ token, types }) => (token === ts.SyntaxKind.ImplementsKeyword ? types : []));

it('Every field of a resource or an input is documented by its class, also an optional one', () => {
  const { undocumented, compared } = findingsOf(compiled());

  expect(compared).toEqual(
    expect.arrayContaining(['OrderDto', 'OrderDto.edges', 'PlaceOrderInputDto', 'EventDto.actor']),
  );
  expect(undocumented.toSorted()).toEqual(CANARY_FINDINGS.toSorted());
});
