import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bareEnvironment } from '../config.js';

const PROJECT = join(__dirname, '..', '..');
const DOCUMENT = join(PROJECT, '..', 'api', 'openapi.json');

describe('committed OpenAPI document', () => {
  it('passes the strictest lint rules', async () => {
    const { totals, problems } = await lint(DOCUMENT);

    expect(problems).toEqual([]);
    expect(totals).toEqual({ errors: 0, warnings: 0, ignored: 0 });
  });
});

interface Findings {
  readonly totals: Readonly<Record<string, number>>;
  readonly problems: readonly { readonly ruleId: string; readonly message: string }[];
}

/** The output of Redocly for a document, in a process without telemetry and update checks. */
async function lint(file: string): Promise<Findings> {
  const cli = require.resolve('@redocly/cli/bin/cli.js');
  const args = [cli, 'lint', '--format=json', `--config=${join(PROJECT, 'redocly.yaml')}`, file];
  const env = { ...bareEnvironment(), REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const run = promisify(execFile)(process.execPath, args, { env, timeout: 60_000 });
  const { stdout } = await run.catch((failure: { stdout: string }) => failure);
  const { totals, problems } = JSON.parse(stdout) as Findings;
  return { totals, problems: problems.map(({ ruleId, message }) => ({ ruleId, message })) };
}
