import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { command } from './command.js';
import { LIBRARIES, ROOT } from './consumer.js';

const PLAN = `---
'@banking/client': minor
---

A client says which workspace it works in.
`;

interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** What a release reads and writes of this workspace, as a repository of its own with one plan in it. */
function copyOfTheWorkspace(): string {
  const copy = mkdtempSync(join(tmpdir(), 'banking-release-'));
  const take = (path: string) => {
    if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(copy, path));
  };
  for (const file of ['package.json', 'package-lock.json', 'nx.json', '.npmrc']) take(file);
  for (const group of ['apps', 'libs', 'tools']) {
    for (const project of readdirSync(join(ROOT, group))) {
      take(join(group, project, 'package.json'));
      take(join(group, project, 'CHANGELOG.md'));
    }
  }
  // Nx loads the plugin that nx.json names.
  cpSync(join(ROOT, 'tools/test-run'), join(copy, 'tools/test-run'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  mkdirSync(join(copy, '.nx/version-plans'), { recursive: true });
  writeFileSync(join(copy, '.nx/version-plans/plan.md'), PLAN);
  take('.gitignore');
  return copy;
}

describe('release of a version plan', () => {
  const copy = copyOfTheWorkspace();
  const person = { name: 'Release', email: 'release@banking.example' };
  const environment = {
    NX_DAEMON: 'false',
    npm_config_offline: 'true',
    ...{ GIT_AUTHOR_NAME: person.name, GIT_AUTHOR_EMAIL: person.email },
    ...{ GIT_COMMITTER_NAME: person.name, GIT_COMMITTER_EMAIL: person.email },
  };
  const inCopy = (program: string, ...args: string[]) => command(program, args, { cwd: copy, environment });
  const json = <T>(path: string) => JSON.parse(readFileSync(join(copy, path), 'utf8')) as T;

  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  it('writes matching versions, changelogs, lock file, commit and tags', async () => {
    const before = json<Manifest>('libs/domain/package.json').version;
    await inCopy('git', 'init', '--quiet');
    await inCopy('git', 'add', '--all');
    await inCopy('git', 'commit', '--quiet', '--message', 'Everything so far');

    await inCopy(process.execPath, 'node_modules/nx/dist/bin/nx.js', 'release', '--skip-publish');

    const [domain, client] = LIBRARIES.map((library) => json<Manifest>(`libs/${library}/package.json`));
    const api = json<Manifest>('apps/api/package.json');
    const version = nextMinor(before);
    expect([domain?.version, client?.version]).toEqual([version, version]);
    expect([client, api].map((manifest) => manifest?.dependencies?.['@banking/domain'])).toEqual([version, version]);
    expect(json<{ packages: Record<string, Manifest> }>('package-lock.json').packages['libs/client']).toMatchObject({
      version,
      dependencies: { '@banking/domain': version },
    });

    const newest = (path: string) => readFileSync(join(copy, path), 'utf8').split(/^(?=## )/m)[0];
    expect(newest('libs/client/CHANGELOG.md')).toContain(`## ${version} (`);
    expect(newest('libs/client/CHANGELOG.md')).toContain('A client says which workspace it works in.');
    expect(newest('libs/domain/CHANGELOG.md')).toContain(`## ${version} (`);

    expect((await inCopy('git', 'tag')).split('\n')).toEqual(
      expect.arrayContaining([`libraries-v${version}`, `service-v${api.version}`]),
    );
    expect(await inCopy('git', 'status', '--porcelain')).toBe('');
    expect(existsSync(join(copy, '.nx/version-plans/plan.md'))).toBe(false);
  });
});

function nextMinor(version: string): string {
  const [major, minor] = version.split('.').map(Number);
  return `${major}.${(minor ?? 0) + 1}.0`;
}
