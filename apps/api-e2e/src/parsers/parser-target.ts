import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '..', '..', '..', '..');

/** What a parser did with an input. */
export type Verdict = 'accepted' | 'refused';

/** A parser with its law. The module of a target exports one as `target`. */
export interface ParserTarget {
  /** Inputs that mutation begins with. At least one is accepted. */
  readonly examples: readonly string[];
  /** Texts that have a meaning for the parser. Mutation inserts them. */
  readonly tokens: readonly string[];
  /** As long as the longest input that reaches the parser, or shorter if all lengths behave alike. */
  readonly lengthMax: number;
  /** Runs the parser. Refuses only as the parser documents. @throws Error if the parser violates its law */
  readonly check: (input: string) => Verdict | Promise<Verdict>;
}

/** The files of a target, from the top of the workspace. */
export interface TargetFiles {
  /** The compiled module of the target. */
  readonly module: string;
  /** The inputs that reached new blocks: one JSON text in a line. */
  readonly corpus: string;
  /** The beginnings of the compiled files whose blocks guide the fuzzer. */
  readonly sources: readonly string[];
  /** Whether code that the parser compiles at run time guides the fuzzer too. */
  readonly withGenerated?: boolean;
}

/** A target of a private package is beside its parser. Those of published packages are here. */
function beside(
  folder: 'apps' | 'libs',
  project: string,
  path: string,
  sources: readonly string[],
  withGenerated = false,
): TargetFiles {
  return {
    module: `${folder}/${project}/dist/${path}.fuzz.js`,
    corpus: `${folder}/${project}/src/${path}.corpus.jsonl`,
    sources,
    withGenerated,
  };
}

const OF_CLIENT = ['read-response', 'errors', 'next-page', 'wide-integers', 'edges', 'calls', 'http-transport'].map(
  (name) => `libs/client/dist/${name}.js`,
);

export const TARGETS: Readonly<Record<string, TargetFiles>> = {
  amount: beside('apps', 'api-e2e', 'parsers/amount', ['libs/domain/dist/amount', 'libs/domain/dist/display.js']),
  cursor: beside('libs', 'operations', 'lists/testing/cursor', ['libs/operations/dist/lists/sign-cursor.js']),
  'token-header': beside('apps', 'api', 'access/testing/token-header', [
    'apps/api/dist/access/credentials.js',
    'apps/api/dist/access/token-verifier.js',
    'node_modules/jose/',
  ]),
  'recipient-data': beside(
    'libs',
    'operations',
    'recipients/testing/recipient-data',
    [
      'libs/operations/dist/recipients/corridor-schemas.js',
      'libs/reference/dist/recipients/',
      'node_modules/ibantools/',
    ],
    true,
  ),
  'statement-csv': beside('apps', 'api', 'accounts/testing/statement-csv', ['apps/api/dist/accounts/statement-csv.js']),
  'client-response': beside('apps', 'api-e2e', 'parsers/client-response', OF_CLIENT),
  'upstream-response': beside(
    'apps',
    'api',
    'gateway/testing/upstream-response',
    [
      ...OF_CLIENT,
      'apps/api/dist/gateway/validate-response.js',
      'apps/api/dist/gateway/upstream-failure.js',
      'apps/api/dist/gateway/users/',
    ],
    true,
  ),
};

export const absolute = (path: string) => join(ROOT, path);

/** The inputs of a corpus. A missing file is an empty corpus. */
export function corpusIn(file: string): string[] {
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as string);
}
