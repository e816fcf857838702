import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as ts from 'typescript';
import { command } from './command.js';
import { ROOT } from './consumer.js';

/** One documented output: what the README says stands after `// →`, and what came out. */
export interface Output {
  readonly line: number;
  readonly documented: string;
  readonly actual: string;
}

/** What the reader brings along, before the first block, in TypeScript. */
export interface Reader {
  readonly prelude: string;
  /** Where the README names a place that is only an example. */
  readonly instead?: Readonly<Record<string, string>>;
}

const DOCUMENTED = /\/\/ → (.*)$/;

/** Notes what an expression gives; a documented refusal is noted and does not end the program. */
const RUNTIME = `
import { inspect } from 'node:util';
const noted: (readonly [number, string])[] = [];
const written = (value: unknown) => inspect(value, { depth: 8, breakLength: Infinity, compact: true });
const note = (line: number, text: string) => { noted.push([line, text]); };
function show<T>(line: number, run: () => T): T { const value = run(); note(line, written(value)); return value; }
async function showLater<T>(line: number, run: () => Promise<T>): Promise<T> {
  const value = await run(); note(line, written(value)); return value;
}
function print(line: number, value: unknown): void { note(line, String(value)); }
async function refuse(line: number, run: () => unknown): Promise<void> {
  try { note(line, 'gives ' + written(await run())); } catch (error) {
    const { name, reason } = error as { readonly name: string; readonly reason?: string };
    note(line, ['throws', name, ...(reason === undefined ? [] : [reason])].join(' '));
  }
}
`;

/**
 * Compiles and runs every `ts` block of a README, one after another as one module, in a project that has installed the
 * packages.
 *
 * @throws Error with what the compiler or the program said, when either has a complaint.
 */
export async function runExamples(readme: string, name: string, folder: string, reader: Reader): Promise<Output[]> {
  const blocks = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(({ index, 1: code = '' }) => ({
    firstLine: readme.slice(0, index).split('\n').length + 1,
    code: Object.entries(reader.instead ?? {}).reduce((text, [from, to]) => text.replaceAll(from, to), code),
  }));
  const documented = new Map(
    blocks.flatMap(({ code, firstLine }) =>
      code.split('\n').flatMap((text, index) => {
        const comment = DOCUMENTED.exec(text)?.[1];
        return comment === undefined ? [] : [[firstLine + index, comment.trim()] as const];
      }),
    ),
  );

  const imports = new Map<string, Set<string>>();
  const bodies = blocks.map(({ code, firstLine }) => instrumented(code, firstLine, imports));
  const module = [
    ...[...imports].map(([from, names]) => `import { ${[...names].join(', ')} } from '${from}';`),
    ...[RUNTIME, reader.prelude, ...bodies],
    'console.log(JSON.stringify(noted));',
    'export {};',
  ].join('\n');

  const source = join(folder, `${name}.mts`);
  writeFileSync(source, module);
  const complaints = compile(source);
  if (complaints.length > 0) throw new Error(`the examples do not compile:\n${complaints.join('\n')}`);
  const program = source.replace(/\.mts$/, '.mjs');
  const { ESNext } = ts.ModuleKind;
  const compilerOptions = { module: ESNext, target: ts.ScriptTarget.ES2023 };
  writeFileSync(program, ts.transpileModule(module, { compilerOptions }).outputText);

  const printed = await command(process.execPath, [program], { cwd: folder });
  const noted = new Map(JSON.parse(printed) as [number, string][]);
  return [...documented].map(([line, text]) => ({
    line,
    documented: plainSpaces(text),
    actual: plainSpaces(noted.get(line) ?? 'was not reached'),
  }));
}

/** The block without its imports, which are collected, and with every documented expression noted. */
function instrumented(code: string, firstLine: number, imports: Map<string, Set<string>>): string {
  const file = ts.createSourceFile('block.mts', code, ts.ScriptTarget.ES2023, true);
  const lines = code.split('\n');
  const edits: { readonly start: number; readonly end: number; readonly text: string }[] = [];

  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      const bindings = node.importClause?.namedBindings;
      if (!ts.isStringLiteral(node.moduleSpecifier) || bindings === undefined || !ts.isNamedImports(bindings)) {
        throw new Error(`an example imports in a way this test does not read: ${node.getText()}`);
      }
      const names = imports.get(node.moduleSpecifier.text) ?? new Set();
      const isTypes = node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
      for (const element of bindings.elements) names.add(isTypes ? `type ${element.getText()}` : element.getText());
      imports.set(node.moduleSpecifier.text, names);
      edits.push({ start: node.getStart(), end: node.end, text: '' });
      return;
    }
    const expression = resultOf(node);
    const index = file.getLineAndCharacterOfPosition(node.end).line;
    const comment = DOCUMENTED.exec(lines[index] ?? '')?.[1];
    if (expression !== undefined && comment !== undefined) {
      const line = firstLine + index;
      edits.push({ start: expression.getStart(), end: expression.end, text: noting(expression, line, comment) });
      return;
    }
    ts.forEachChild(node, visit);
  };
  visit(file);

  return edits
    .sort((left, right) => right.start - left.start)
    .reduce((text, { start, end, text: edit }) => text.slice(0, start) + edit + text.slice(end), code);
}

/** The expression a documented statement is about. */
function resultOf(node: ts.Node): ts.Expression | undefined {
  if (ts.isExpressionStatement(node)) return node.expression;
  return ts.isVariableStatement(node) ? node.declarationList.declarations[0]?.initializer : undefined;
}

function noting(expression: ts.Expression, line: number, comment: string): string {
  const text = expression.getText();
  if (ts.isCallExpression(expression) && expression.expression.getText() === 'console.log') {
    return `print(${line}, ${expression.arguments.map((argument) => argument.getText()).join(', ')})`;
  }
  if (comment.startsWith('throws ')) return `await refuse(${line}, async () => (${text}))`;
  return /\bawait\b/.test(text) ? `await showLater(${line}, async () => (${text}))` : `show(${line}, () => (${text}))`;
}

function compile(file: string): string[] {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    noEmit: true,
    skipDefaultLibCheck: true,
    lib: ['lib.es2023.d.ts'],
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
  };
  return ts.getPreEmitDiagnostics(ts.createProgram([file], options)).map(({ messageText, file: place, start }) => {
    const line = place && start !== undefined ? place.getLineAndCharacterOfPosition(start).line + 1 : 0;
    return `${line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
}

/** Locale data separates with spaces that do not break; a README has plain ones. */
function plainSpaces(text: string): string {
  return text.replaceAll(/\p{Space_Separator}/gu, ' ');
}
