import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { WORKSPACES } from './build.mjs';
import { command } from './command.mjs';

/**
 * The bill of materials of api, cli and worker, in the format of CycloneDX, as npm writes it of the lock file.
 *
 * npm leaves out a package that one package of the workspace names among its `devDependencies`, also if a program needs it to run:
 * `@nestjs/core` for example. npm therefore reads copies of the manifests without `devDependencies`.
 *
 * @param root a folder with the manifests and the lock file of the workspace
 */
export async function readBillOfMaterials(root) {
  const folder = mkdtempSync(join(tmpdir(), 'banking-sbom-'));
  try {
    const { packages } = copyWithoutDevelopment(root, folder, 'package-lock.json');
    const projects = Object.keys(packages).filter((path) => !path.includes('node_modules'));
    for (const project of projects) copyWithoutDevelopment(root, folder, join(project, 'package.json'));
    const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--loglevel=error', ...WORKSPACES];
    const bill = JSON.parse(await command('npm', args, { cwd: folder }));
    bill.metadata.component.name = 'banking'; // npm takes the name of the folder
    return withoutPaths(bill);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The bill of an archive: only what is in it, and with the same text for the same commit. The serial number, which is random, is left
 * out, as CycloneDX permits. The time is that of the commit.
 *
 * @param contained the packages in the archive, as `name@version`
 */
export function billOfArchive(bill, { version, epochS }, contained) {
  const { metadata, components, dependencies, ...rest } = bill;
  const kept = components.filter((component) => contained.has(component['bom-ref']));
  const refs = new Set([metadata.component['bom-ref'], ...kept.map((component) => component['bom-ref'])]);
  delete rest.serialNumber;
  return {
    ...rest,
    metadata: {
      ...metadata,
      timestamp: new Date(epochS * 1000).toISOString(),
      component: { ...metadata.component, version, purl: `pkg:npm/banking@${version}` },
    },
    components: kept,
    dependencies: dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) })),
  };
}

/** npm 10 lists a package once for each folder that it is in, and names the folder. npm 11 lists it once. */
function withoutPaths({ metadata, components, dependencies, ...bill }) {
  const once = (list, key) => [...new Map(list.map((one) => [one[key], one])).values()];
  const pathless = (component) => ({
    ...component,
    properties: component.properties.filter(({ name }) => name !== 'cdx:npm:package:path'),
  });
  return {
    ...bill,
    metadata: { ...metadata, component: pathless(metadata.component) },
    components: once(components.map(pathless), 'bom-ref'),
    dependencies: once(dependencies, 'ref'),
  };
}

function copyWithoutDevelopment(root, folder, path) {
  const manifest = JSON.parse(readFileSync(join(root, path), 'utf8'));
  for (const one of [manifest, ...Object.values(manifest.packages ?? {})]) delete one.devDependencies;
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), JSON.stringify(manifest));
  return manifest;
}
