import * as fc from 'fast-check';
import { linesOf } from './lines-of.js';
import { ExportFault, LINE_LENGTH_MAX } from './prove-export.js';

/** The bytes in chunks of a size. */
async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function read(bytes: AsyncIterable<Uint8Array>): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(bytes)) lines.push(line);
  return lines;
}

describe('lines', () => {
  it('are the same for any chunks of bytes, also if a chunk ends within a character', async () => {
    const line = fc.string({ unit: 'binary' }).filter((text) => !text.includes('\n'));
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.integer({ min: 1, max: 9 }), async (lines, size) => {
        const bytes = new TextEncoder().encode(lines.map((text) => `${text}\n`).join(''));
        expect(await read(cut(bytes, size))).toEqual(lines);
      }),
    );
  });

  it('do not require a line feed after the last', async () => {
    expect(await read(cut(new TextEncoder().encode('one\ntwo'), 64))).toEqual(['one', 'two']);
  });

  it.each([
    ['in the middle', [0x61, 0x0a, 0xff, 0x0a]],
    ['cut off by a line feed', [0x61, 0x0a, 0xc3, 0x0a]],
    ['cut off by the end', [0x61, 0x0a, 0xc3]],
  ])('are refused by number if they are not UTF-8: %s', async (_what, bytes) => {
    await expect(read(cut(Uint8Array.from(bytes), 64))).rejects.toEqual(new ExportFault(2, 'is not UTF-8'));
  });

  it('are read up to the length limit only', async () => {
    let pieces = 0;
    const endless = async function* () {
      for (;;) {
        pieces += 1;
        yield new Uint8Array(65_536).fill(0x61);
      }
    };

    const [line, ...others] = await read(endless());

    expect(line!.length).toBeGreaterThan(LINE_LENGTH_MAX);
    expect({ others, pieces }).toEqual({ others: [], pieces: Math.ceil((LINE_LENGTH_MAX + 1) / 65_536) });
  });
});
