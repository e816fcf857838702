import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MIGRATIONS } from '@banking/schema';

/** Does some work as a program that has these migrations after its own. @param work receives the names of their files */
export async function withLaterMigrations<T>(
  texts: readonly string[],
  work: (names: readonly string[]) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'banking-later-'));
  await cp(MIGRATIONS.folder, folder, { recursive: true });
  const { length } = await readdir(folder);
  const names = texts.map((_, at) => `${String(length + at + 1).padStart(4, '0')}-later.sql`);
  for (const [at, name] of names.entries()) await writeFile(join(folder, name), texts[at]!);
  const replaced = jest.replaceProperty(MIGRATIONS, 'folder', folder);
  try {
    return await work(names);
  } finally {
    replaced.restore();
    await rm(folder, { recursive: true });
  }
}
