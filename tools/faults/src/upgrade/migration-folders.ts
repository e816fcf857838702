import { readdirSync } from 'node:fs';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** A migration file of a workspace, or one of the operator of this tool. */
export interface MigrationFile {
  readonly number: number;
  readonly name: string;
  readonly path: string;
}

/** The migrations of a workspace, by number. @param root its top folder */
export function migrationsOf(root: string): MigrationFile[] {
  const folders = readdirSync(join(root, 'libs')).map((library) => join(root, 'libs', library, 'migrations'));
  return folders
    .flatMap((folder) => namesIn(folder).map((name) => fileOf(join(folder, name))))
    .sort((one, other) => one.number - other.number);
}

/** Writes further migrations into a folder, with the numbers after the last one. */
export async function addMigrations(
  folder: string,
  last: number,
  paths: readonly string[],
): Promise<readonly MigrationFile[]> {
  const added: MigrationFile[] = [];
  for (const [index, path] of paths.entries()) {
    const title = basename(path, '.sql').replace(/^\d{4}-/, '');
    const to = join(folder, `${String(last + 1 + index).padStart(4, '0')}-${title}.sql`);
    await writeFile(to, await readFile(path, 'utf8'));
    added.push(fileOf(to));
  }
  return added;
}

export async function copyMigrations(files: readonly MigrationFile[], folder: string): Promise<void> {
  for (const { path, name } of files) await copyFile(path, join(folder, name));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.sql'));
  } catch {
    return [];
  }
}

function fileOf(path: string): MigrationFile {
  const name = basename(path);
  return { number: Number(name.slice(0, 4)), name, path };
}
