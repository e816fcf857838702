import { printTable } from './print.js';

/** What a table writes to standard output. */
function tableOf(...table: Parameters<typeof printTable>): string {
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    printTable(...table);
    return written.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    written.mockRestore();
  }
}

describe('a table', () => {
  it('aligns columns by the cells that a terminal shows, and numbers to the right', () => {
    const rows = [
      [7, 'Ada', 'x'],
      [1234, '東京\u{1b}', ''],
    ];

    expect(tableOf(['Id', 'Name', 'Note'], rows, 'None.')).toBe(
      ['  Id  Name      Note', '   7  Ada       x', '1234  東京\\x1b', ''].join('\n'),
    );
  });

  it('is a sentence without rows', () => {
    expect(tableOf(['Id'], [], 'None.')).toBe('None.\n');
  });

  // Of all pairs of rows, this would take an hour.
  it('is laid out in one pass over its rows', () => {
    const rows = Array.from({ length: 50_000 }, (_, id) => [id, `user-${id}@harbour.example`, 'completed']);

    expect(tableOf(['Id', 'E-mail', 'Status'], rows, 'None.').split('\n')).toHaveLength(rows.length + 2);
  });
});
