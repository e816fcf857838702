import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Environment, readerOf } from './environment-reader.js';
import { readMetrics } from './telemetry-config.js';

describe('the configuration of metrics', () => {
  it.each([
    [{}, undefined],
    [{ METRICS_HOST: '10.0.0.1' }, undefined],
    [{ METRICS_PORT: '9464' }, { host: '127.0.0.1', port: 9464, commit: undefined }],
    [
      { METRICS_PORT: '0', METRICS_HOST: '10.0.0.1', BUILD_COMMIT: 'v1.2-3_a' },
      { host: '10.0.0.1', port: 0, commit: 'v1.2-3_a' },
    ],
  ])('reads %j as %j', (environment, expected) => {
    const reader = readerOf(environment);

    expect(readMetrics(reader)).toEqual(expected);
    expect(reader.mistakes).toEqual([]);
  });

  it('has the commit of the manifest of a release archive, unless BUILD_COMMIT names one', () => {
    const folder = mkdtempSync(join(tmpdir(), 'metrics-config-'));
    const manifest = join(folder, 'package.json');
    writeFileSync(manifest, JSON.stringify({ gitHead: '9941058d6b0a' }));
    const commitOf = (environment: Environment) => readMetrics(readerOf(environment), manifest)?.commit;

    expect(commitOf({ METRICS_PORT: '0' })).toBe('9941058d6b0a');
    expect(commitOf({ METRICS_PORT: '0', BUILD_COMMIT: 'v1.2' })).toBe('v1.2');
    rmSync(folder, { recursive: true });
  });

  it.each([
    [{ METRICS_PORT: '65536' }, /^METRICS_PORT is "65536"/],
    [{ METRICS_PORT: '1', BUILD_COMMIT: 'a"} 1' }, /^BUILD_COMMIT is not the name of a commit/],
    [{ BUILD_COMMIT: 'a'.repeat(65) }, /^BUILD_COMMIT is not the name of a commit/],
  ])('reports the mistake in %j', (environment, mistake) => {
    const reader = readerOf(environment);
    readMetrics(reader);

    expect(reader.mistakes).toEqual([expect.stringMatching(mistake)]);
  });
});
