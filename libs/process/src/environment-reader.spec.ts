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
