import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, readerOf } from './environment-reader.js';

describe('readerOf', () => {
  it('treats an empty or blank variable as unset', () => {
    const { text, whole, url } = readerOf({ A: '', B: '  ', C: ' x ' });

    expect([text('A'), text('B'), text('C'), text('D')]).toEqual([undefined, undefined, 'x', undefined]);
    expect([whole('A', 0, 9), url('B', ['https:'])]).toEqual([undefined, undefined]);
  });

  it.each(['-1', '10', '1.5', '0x1', '1e0', '٣', ' 1 2 '])('reports %s for a whole number from 0 to 9', (value) => {
    const reader = readerOf({ N: value });

    expect(reader.whole('N', 0, 9)).toBeUndefined();
    expect(reader.mistakes).toEqual([expect.stringMatching(/^N is ".+"\. Set a whole number from 0 to 9\.$/)]);
  });

  it('reports a flag that is neither on nor off', () => {
    const reader = readerOf({ F: 'yes', G: 'off' });

    expect([reader.flag('F', true), reader.flag('G', true), reader.flag('H', true)]).toEqual([true, false, true]);
    expect(reader.mistakes).toEqual(['F is "yes". Set one of: on, off.']);
  });

  it('reports the allowed protocols of a URL without its value', () => {
    const reader = readerOf({ U: 'mysql://me:secret@db' });

    expect(reader.url('U', ['postgres:', 'postgresql:'])).toBeUndefined();
    expect(reader.mistakes).toEqual(['U is not a URL that begins with postgres:// or postgresql://.']);
  });

  it('lists all mistakes in one error', () => {
    expect(new ConfigError(['A is wrong.']).message).toBe('The configuration has a mistake:\n  - A is wrong.');
    expect(new ConfigError(['A.', 'B.']).message).toBe('The configuration has 2 mistakes:\n  - A.\n  - B.');
  });
});

describe.each(['DATABASE_URL', 'DATABASE_OWNER_URL', 'RATES_URL'])('the secret %s', (name) => {
  const folder = mkdtempSync(join(tmpdir(), 'environment-reader-'));
  const file = join(folder, 'secret');
  beforeAll(() => writeFileSync(file, 'https://me:hunter2@host.example\n', { mode: 0o440 }));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('comes from its file', () => {
    const reader = readerOf({ [`${name}_FILE`]: file });

    expect(reader.text(name)).toBe('https://me:hunter2@host.example');
    expect(reader.url(name, ['https:'])).toBe('https://me:hunter2@host.example');
    expect(reader.given(name)).toBe(`${name}_FILE`);
    expect(reader.mistakes).toEqual([]);
  });

  it('is a mistake if variable and file are set, which is reported once', () => {
    const reader = readerOf({ [name]: 'https://a', [`${name}_FILE`]: file });

    expect([reader.text(name), reader.text(name)]).toEqual(['https://a', 'https://a']);
    expect(reader.given(name)).toBe(name);
    expect(reader.mistakes).toEqual([`${name} and ${name}_FILE are both set. Keep one.`]);
  });

  it('is a mistake if its file cannot be read, and is given nevertheless', () => {
    const reader = readerOf({ [`${name}_FILE`]: join(folder, 'missing') });

    expect([reader.text(name), reader.given(name)]).toEqual([undefined, `${name}_FILE`]);
    expect(reader.mistakes).toEqual([
      `The file that ${name}_FILE names cannot be read (ENOENT). Correct the path, or the file.`,
    ]);
  });

  it('is unset if neither variable has a value', () => {
    const reader = readerOf({ [name]: '', [`${name}_FILE`]: ' ' });

    expect([reader.text(name), reader.given(name), reader.mistakes]).toEqual([undefined, undefined, []]);
  });
});

describe('a variable that is no secret', () => {
  it('has no file', () => {
    const reader = readerOf({ HOST_FILE: '/nowhere' });

    expect([reader.text('HOST'), reader.given('HOST'), reader.mistakes]).toEqual([undefined, undefined, []]);
  });
});
