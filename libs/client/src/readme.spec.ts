import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as ts from 'typescript';

const ROOM = join(__dirname, '..');

describe('the README', () => {
  it('shows code that compiles, block after block', () => {
    const readme = readFileSync(join(ROOM, 'README.md'), 'utf8');
    const blocks = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code);

    expect(blocks).toHaveLength(3);
    // The one name the reader brings along; that it is missed proves that the compiler looked.
    expect(mistakesIn(blocks.join('\n'))).toEqual(["Cannot find name 'currentToken'."]);
  }, 60_000);
});

/** What the compiler says about a module that stands in this library and imports it by its name. */
function mistakesIn(code: string): string[] {
  const { config } = ts.readConfigFile(join(ROOM, 'tsconfig.build.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOM);
  const module = { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler };
  const compilerOptions = {
    ...options,
    ...module,
    noUnusedLocals: false,
    noEmit: true,
    composite: false,
    incremental: false,
  };

  const file = join(ROOM, 'src', 'readme.ts');
  const host = ts.createCompilerHost(compilerOptions);
  const { getSourceFile } = host;
  host.getSourceFile = (name, languageVersion, ...rest) =>
    name === file ? ts.createSourceFile(name, code, languageVersion) : getSourceFile(name, languageVersion, ...rest);

  return ts
    .getPreEmitDiagnostics(ts.createProgram([file], compilerOptions, host))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
