import { join } from 'node:path';
import ts from 'typescript';
import { files, ROOT } from './workspace.js';

const CANARY = join(ROOT, 'apps/api/src/orders/canary.dto.ts');
const CANARY_TEXT = `interface Fields { readonly id: number; readonly note?: string; readonly edges: { readonly bank?: object } }
class EdgesDto {}
export class CanaryDto implements Fields { readonly id!: number; readonly edges!: EdgesDto }`;
const CLASSES = /\/apps\/api\/src\/.*\.(dto|controller)\.ts$/;

/** The service with the canary, as the compiler sees it. */
function compiled(): ts.Program {
  const { config } = ts.readConfigFile(join(ROOT, 'apps/api/tsconfig.build.json'), ts.sys.readFile) as {
    config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, join(ROOT, 'apps/api'));
  const host = ts.createCompilerHost(options);
  const readFile = host.readFile.bind(host);
  host.readFile = (name) => (name === CANARY ? CANARY_TEXT : readFile(name));
  const fileExists = host.fileExists.bind(host);
  host.fileExists = (name) => name === CANARY || fileExists(name);
  const classes = files()
    .map((file) => join(ROOT, file))
    .filter((file) => CLASSES.test(file));
  return ts.createProgram([...classes, CANARY], options, host);
}

/** The fields of resources and inputs that no class of theirs documents: the compiler does not ask for optional ones. */
function undocumented(program: ts.Program): string[] {
  const checker = program.getTypeChecker();
  const missing: string[] = [];
  const compare = (name: string, documented: ts.Type, type: ts.Type): void => {
    for (const field of checker.getNonNullableType(type).getProperties()) {
      const own = checker.getPropertyOfType(documented, field.name);
      if (own === undefined) missing.push(`${name}.${field.name}`);
      // A class of its own documents the edges, and implements nothing.
      else if (field.name === 'edges') {
        compare(`${name}.edges`, checker.getTypeOfSymbol(own), checker.getTypeOfSymbol(field));
      }
    }
  };
  const visit = (node: ts.Node): void => {
    if (ts.isClassDeclaration(node)) {
      for (const { token, types } of node.heritageClauses ?? []) {
        if (token !== ts.SyntaxKind.ImplementsKeyword) continue;
        for (const type of types) {
          compare(node.name?.text ?? '', checker.getTypeAtLocation(node), checker.getTypeAtLocation(type));
        }
      }
    }
    ts.forEachChild(node, visit);
  };
  for (const source of program.getSourceFiles()) if (CLASSES.test(source.fileName)) visit(source);
  return missing;
}

it('Every field of a resource or an input is documented by its class, also an optional one', () => {
  expect(undocumented(compiled())).toEqual(['CanaryDto.note', 'CanaryDto.edges.bank']);
});
