import { ExportFault, LINE_LENGTH_MAX } from './prove-export.js';

const LINE_FEED = 10;

/**
 * Splits bytes into lines for `proveExport`: the stream of a file in Node, `file.stream()` or the body of a response in a browser.
 * It ends at the beginning of a line above the length limit, so that no input fills the memory.
 *
 * @throws ExportFault for bytes that are not UTF-8
 */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let count = 1;
  const decode = (piece?: Uint8Array) => {
    try {
      return decoder.decode(piece, { stream: piece !== undefined });
    } catch {
      throw new ExportFault(count, 'is not UTF-8');
    }
  };
  let line = '';
  for await (const chunk of bytes) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      yield line + decode(chunk.subarray(start, end)) + decode();
      count += 1;
      line = '';
      start = end + 1;
    }
    line += decode(chunk.subarray(start));
    if (line.length > LINE_LENGTH_MAX) return yield line;
  }
  line += decode();
  if (line !== '') yield line;
}
