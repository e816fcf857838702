import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSecretFile, SecretFileError } from './secret-file.js';

describe('readSecretFile', () => {
  const folder = mkdtempSync(join(tmpdir(), 'secret-file-'));
  const path = join(folder, 'secret');
  afterAll(() => rmSync(folder, { recursive: true }));

  function write(content: string, mode = 0o400): string {
    rmSync(path, { force: true, recursive: true });
    writeFileSync(path, content);
    chmodSync(path, mode);
    return path;
  }

  it.each([
    ['hunter2', 'hunter2'],
    ['hunter2\n', 'hunter2'],
    ['hunter2\r\n', 'hunter2'],
    [' with spaces \n', ' with spaces '],
    ['pässwört', 'pässwört'],
  ])('reads %j as %j', (content, secret) => {
    expect(readSecretFile(write(content))).toBe(secret);
  });

  // The modes of systemd's credentials, of Kubernetes with and without fsGroup, and of Docker.
  it.each(['0400', '0440', '0644', '0444', '0600', '0640'])('accepts the mode %s', (mode) => {
    expect(readSecretFile(write('hunter2', Number.parseInt(mode, 8)))).toBe('hunter2');
  });

  it.each(['0620', '0602', '0666'])('refuses the mode %s, with which other users may write the file', (mode) => {
    expect(() => readSecretFile(write('hunter2', Number.parseInt(mode, 8)))).toThrow(
      new SecretFileError('can be written by other users (run chmod go-w on it)'),
    );
  });

  it.each(['0777', '0775', '0757'])(
    'refuses a folder with the mode %s, in which other users may replace the file',
    (mode) => {
      write('hunter2');
      chmodSync(folder, Number.parseInt(mode, 8));
      expect(() => readSecretFile(path)).toThrow(
        new SecretFileError('is in a folder that other users can write (run chmod go-w on the folder)'),
      );
      chmodSync(folder, 0o1777);
      expect(readSecretFile(path)).toBe('hunter2');
      chmodSync(folder, 0o700);
    },
  );

  it.each([
    ['', 'is empty'],
    ['\n', 'is empty'],
    ['   ', 'is empty'],
    ['hunter2\nhunter3\n', 'has more than one line, or a control character'],
    ['hunter2\n\n', 'has more than one line, or a control character'],
    ['hunter2\0', 'has more than one line, or a control character'],
    ['x'.repeat(16_385), 'is longer than 16384 bytes'],
  ])('refuses a file, and does not quote it (case %#)', (content, message) => {
    expect(() => readSecretFile(write(content))).toThrow(new SecretFileError(message));
  });

  it('follows the symbolic links of a volume of Kubernetes', () => {
    mkdirSync(join(folder, '..2026'));
    writeFileSync(join(folder, '..2026', 'password'), 'hunter2', { mode: 0o440 });
    symlinkSync('..2026', join(folder, '..data'));
    symlinkSync('..data/password', join(folder, 'password'));

    expect(readSecretFile(join(folder, 'password'))).toBe('hunter2');
  });

  it('refuses a file that is missing, a folder, and a pipe, without waiting for a writer', () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);

    expect(() => readSecretFile(join(folder, 'missing'))).toThrow(new SecretFileError('cannot be read (ENOENT)'));
    expect(() => readSecretFile(folder)).toThrow(new SecretFileError('is no regular file'));
    expect(() => readSecretFile(pipe)).toThrow(new SecretFileError('is no regular file'));
  });
});
