import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { bareEnvironment } from '../config.js';
import { manifestFiles, readManifests, ROOT } from './deploy-files.js';

const TYPES = dirname(require.resolve('kubernetes-types/package.json'));
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

type Manifest = Readonly<Record<string, unknown>>;

/** The types of Kubernetes are closed: a field that does not exist is an error, which its schemas would accept. */
describe('the types of Kubernetes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubernetes-types-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** The errors of the compiler for objects as literals. */
  function errorsIn(manifests: readonly Manifest[]): string[] {
    const file = join(folder, 'manifests.ts');
    const lines = manifests.map((manifest, at) => {
      const { apiVersion, kind } = manifest as { readonly apiVersion: string; readonly kind: string };
      const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion];
      const types = join(TYPES, (group ?? '').replace('.k8s.io', ''), version ?? '');
      return `export const object${at}: import(${JSON.stringify(types)}).${kind} = ${JSON.stringify(manifest)};`;
    });
    writeFileSync(file, lines.join('\n'));
    const args = [TSC, '--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', file];
    const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env: bareEnvironment(), cwd: folder });
    return stdout.split('\n').filter((line) => line.includes('error TS'));
  }

  const manifests = manifestFiles.flatMap(readManifests);

  it('accept each object of deploy/kubernetes', () => {
    expect(manifests).toHaveLength(13);
    expect(errorsIn(manifests)).toEqual([]);
  });

  it('reject a field that does not exist, a value of another type, and a missing field', () => {
    const planted = JSON.stringify(manifests)
      .replace('"maxUnavailable":0', '"maxUnavalable":0')
      .replace('"minAvailable":1', '"minAvailable":[1]')
      .replace('"podSelector":{"matchLabels":{"app.kubernetes.io/part-of":"banking"}},', '');

    expect(errorsIn(JSON.parse(planted) as Manifest[])).toEqual([
      expect.stringContaining(`'"maxUnavalable"' does not exist in type 'RollingUpdateDeployment'`),
      expect.stringContaining(`'number[]' is not assignable to type`),
      expect.stringContaining(`Property 'podSelector' is missing`),
    ]);
  });
});
