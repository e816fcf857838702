import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, rmSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { command } from './command.mjs';

/**
 * Writes a folder as a compressed tar file. The bytes depend on names, contents and `epochS` only: entries are sorted, their time is
 * `epochS`, their owner is root, and their modes are those of files that everyone may read and only their owner may write.
 *
 * @param options.without paths below the folder to leave out
 */
export async function writeArchive(folder, file, { epochS, without = [] }) {
  const tar = `${file}.tar`;
  const name = basename(folder);
  const fixed = [
    '--sort=name',
    `--mtime=@${epochS}`,
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=u=rwX,go=rX',
  ];
  const excluded = without.map((path) => `--exclude=${name}/${path}`);
  const args = ['--create', '--format=ustar', ...fixed, ...excluded, `--file=${tar}`, '-C', dirname(folder), name];
  await command('tar', args, { environment: { LC_ALL: 'C', TAR_OPTIONS: '' } });
  // zlib writes neither a name nor a time into the header.
  await pipeline(createReadStream(tar), createGzip({ level: 9 }), createWriteStream(file));
  const unpackedBytes = statSync(tar).size;
  rmSync(tar);
  return { file, packedBytes: statSync(file).size, unpackedBytes };
}

/** The lines of `sha256sum` for these files. */
export async function checksumLines(files) {
  const lines = [];
  for (const file of files) {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(file)) hash.update(chunk);
    lines.push(`${hash.digest('hex')}  ${basename(file)}\n`);
  }
  return lines.join('');
}
