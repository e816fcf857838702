import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { bareEnvironment } from '../config.js';

/** Whether this machine has a shell and curl. */
export const hasCurl = (bareEnvironment()['PATH'] ?? '')
  .split(delimiter)
  .some((folder) => isProgram(join(folder, 'curl')));

/** Runs copied commands in a shell, and returns their standard output. @throws Error with their standard error */
export async function inShell(commands: string, variables: Readonly<Record<string, string>>): Promise<string> {
  const env = { ...bareEnvironment(), ...variables };
  const { stdout } = await promisify(execFile)('sh', ['-euc', commands], { env, timeout: 60_000 });
  return stdout;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The blocks of a language in a Markdown text, in their order. */
export function blocksOf(language: string, markdown: string): string[] {
  const block = new RegExp(`^( *)\`\`\`${language}\\n([^]*?)^\\1\`\`\`$`, 'gm');
  return [...markdown.matchAll(block)].map(([, indent = '', code = '']) =>
    code.replace(new RegExp(`^${indent}`, 'gm'), ''),
  );
}
