import { Readable } from 'node:stream';

/**
 * A response that is written in chunks, each when the client has read the one before: the stream holds one chunk at most. The first is
 * awaited here, so an error before it is a response like that of any other operation. A later error ends the connection.
 *
 * @param isWhole whether the other chunks are wanted too; a response to HEAD has none
 */
export async function textStream(chunks: AsyncGenerator<string, void>, isWhole = true): Promise<Readable> {
  return Readable.from(await started(chunks, isWhole), { objectMode: false, highWaterMark: 1 });
}

/** The same chunks, the first of which was read. @throws what reading it throws */
export async function started(
  chunks: AsyncGenerator<string, void>,
  isWhole = true,
): Promise<AsyncGenerator<string, void>> {
  const first = await chunks.next();
  return following(first, chunks, isWhole);
}

async function* following(
  first: IteratorResult<string, void>,
  chunks: AsyncGenerator<string, void>,
  isWhole: boolean,
): AsyncGenerator<string, void> {
  if (first.done) return;
  yield first.value;
  if (isWhole) yield* chunks;
  else await chunks.return();
}
