import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './workspace.js';

/** A text to lint as if it stood in a file. The file must exist: type-aware rules ask TypeScript which project it is in. */
export interface Case {
  readonly file: string;
  readonly text: string;
}

export interface Message {
  readonly ruleId: string | null;
  readonly messageId?: string;
  readonly message: string;
  readonly line: number;
}

/** A row of the boundary table in force. */
export interface Constraint {
  readonly sourceTag: string;
  readonly onlyDependOnLibsWithTags: readonly string[];
}

/**
 * Lints texts with the repository's own configuration and says what ESLint found in each.
 *
 * @throws when Nx has left no project graph behind: the boundary rule would then find nothing, whatever the text.
 */
export function lint(cases: readonly Case[]): { messages: Message[][]; constraints: Constraint[] } {
  const output = execFileSync(process.execPath, [join(ROOT, 'tools/house-rules/src/lint-texts.mjs')], {
    cwd: ROOT,
    input: JSON.stringify(cases),
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  if (output.includes('No cached ProjectGraph')) {
    throw new Error('There is no project graph to lint with. Run this through nx: npx nx test house-rules');
  }
  const answer = output.trimEnd().split('\n').at(-1) ?? '';
  return JSON.parse(answer) as { messages: Message[][]; constraints: Constraint[] };
}
