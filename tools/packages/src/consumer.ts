import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { command } from './command.js';

export const ROOT = join(__dirname, '..', '..', '..');

/** The published libraries. */
export const LIBRARIES = ['domain', 'client'] as const;
type Library = (typeof LIBRARIES)[number];

/** Where the packed library lies, by name. */
export type Tarballs = Readonly<Record<Library, string>>;

/** Packs the libraries as publishing would, `prepack` included. */
export async function pack(into: string): Promise<Tarballs> {
  await mkdir(into, { recursive: true });
  const packed: [Library, string][] = [];
  for (const library of LIBRARIES) {
    const args = ['pack', '--silent', '--pack-destination', into];
    const name = (await command('npm', args, { cwd: join(ROOT, 'libs', library) })).trim().split('\n').at(-1) ?? '';
    packed.push([library, join(into, name)]);
  }
  return Object.fromEntries(packed) as Tarballs;
}

/** Makes an empty project and installs the tarballs. Offline: that they need nothing else is part of the promise. */
export async function install(folder: string, tarballs: Tarballs): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'consumer', private: true }));
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts'];
  await command('npm', ['install', '--offline', ...quiet, ...Object.values(tarballs)], { cwd: folder });
}
