import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { bareEnvironment } from '../config.js';
import { API, offlineText } from './read-document.js';

const PROJECT = join(__dirname, '..', '..');
const OUTPUT = join(PROJECT, 'test-output');

/** The contract of bank adapters. */
const RAIL = resolve(__dirname, '../../../../libs/rails/http-rail.openapi.json');

describe('the OpenAPI document', () => {
  it('passes the strictest lint rules as it is committed, and with the examples as it is served', async () => {
    mkdirSync(OUTPUT, { recursive: true });
    const served = join(OUTPUT, 'openapi.json');
    writeFileSync(served, offlineText());

    for (const file of [join(API, 'openapi.json'), served, RAIL]) {
      const { totals, problems } = await lint(file);

      expect({ file, problems }).toEqual({ file, problems: [] });
      expect(totals).toEqual({ errors: 0, warnings: 0, ignored: 0 });
    }
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
