import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReleaseTree } from './release-tree.js';
import { runCommand } from './run-command.js';

/** The variable by which the suite gets the address of the service. */
const PUBLISHED = 'BANKING_E2E_SERVICE';
const WAIT_MS = 120_000;

export interface SuiteTarget {
  readonly url: string;
  /** With the key that signs the tokens of its callers. */
  readonly dataDir: string;
  /** The ids of its demo data. */
  readonly world: unknown;
}

export interface SuiteResult {
  readonly passed: number;
  /** The names of the failed tests. */
  readonly failed: readonly string[];
}

interface JestReport {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** Runs the contract suite of a release on a service. @param folder for its configuration and report */
export async function runContractSuite(tree: ReleaseTree, target: SuiteTarget, folder: string): Promise<SuiteResult> {
  await mkdir(folder, { recursive: true });
  const config = join(folder, 'jest.config.cjs');
  const report = join(folder, 'report.json');
  const project = join(tree.root, 'apps/api-e2e');
  const settings = {
    preset: join(tree.root, 'jest.preset.js'),
    rootDir: project,
    testMatch: ['<rootDir>/src/contract.spec.ts'],
    testTimeout: WAIT_MS,
  };
  await writeFile(config, `module.exports = ${JSON.stringify(settings)};\n`);
  const jest = join(tree.root, 'node_modules/jest/bin/jest.js');
  const args = [jest, '--config', config, '--runInBand', '--json', '--outputFile', report];
  const published = JSON.stringify({ ...target, logFile: join(folder, 'unused.log') });
  const { stderr } = await runCommand(process.execPath, args, { cwd: project, env: { [PUBLISHED]: published } });
  const { numPassedTests, testResults } = await readReport(report, stderr);
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
  if (numPassedTests === 0 && failed.length === 0) throw new Error(`the suite ran no test: ${stderr.slice(-2_000)}`);
  return { passed: numPassedTests, failed };
}

async function readReport(path: string, stderr: string): Promise<JestReport> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as JestReport;
  } catch (error) {
    throw new Error(`the suite did not run: ${stderr.slice(-2_000)}`, { cause: error });
  }
}
