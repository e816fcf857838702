import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EnvironmentReader } from './environment-reader.js';

/** The listener of the metrics, and the commit that the process was built of. */
export interface MetricsConfig {
  readonly host: string;
  readonly port: number;
  readonly commit: string | undefined;
}

const COMMIT = /^[A-Za-z0-9._-]{1,64}$/;

/** The manifest of this package. Only that of a release archive names a commit. */
const MANIFEST = join(__dirname, '..', 'package.json');

/**
 * Reads METRICS_PORT, METRICS_HOST and BUILD_COMMIT. Undefined without a port: no metrics are collected.
 *
 * @param manifest names the commit if BUILD_COMMIT is not set, so that no composition and no image has to
 */
export function readMetrics(
  { text, whole, mistakes }: EnvironmentReader,
  manifest = MANIFEST,
): MetricsConfig | undefined {
  const port = whole('METRICS_PORT', 0, 65_535);
  const host = text('METRICS_HOST') ?? '127.0.0.1';
  const commit = text('BUILD_COMMIT');
  if (commit !== undefined && !COMMIT.test(commit)) {
    mistakes.push(
      'BUILD_COMMIT is not the name of a commit. Set 1 to 64 letters, digits, dots, hyphens or underscores.',
    );
  }
  return port === undefined ? undefined : { host, port, commit: commit ?? commitIn(manifest) };
}

const commitIn = (manifest: string): string | undefined =>
  (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly gitHead?: string }).gitHead;
