import { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { textStream } from './text-stream.js';

/** Chunks of a million characters, and how many were written. */
function chunks(count: number) {
  const written = { count: 0, isEnded: false };
  async function* write() {
    try {
      for (; written.count < count;) {
        written.count += 1;
        yield 'x'.repeat(1_000_000);
      }
    } finally {
      written.isEnded = true;
    }
  }
  return { written, write };
}

/** Enough for everything that does not wait for the reader. */
async function turns(): Promise<void> {
  for (let i = 0; i < 100; i += 1) await turn();
}

describe('textStream', () => {
  it('writes at most two chunks ahead of a client that reads none', async () => {
    const { written, write } = chunks(50);
    const stream = await textStream(write());
    let release = () => undefined as void;
    stream.pipe(new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => void (release = () => done()) }));

    await turns();
    expect(written.count).toBeLessThanOrEqual(3);
    release();
    await turns();
    expect(written.count).toBeLessThanOrEqual(4);
    stream.destroy();
  });

  it('writes everything to a client that reads', async () => {
    const stream = await textStream(chunks(5).write());

    let length = 0;
    for await (const chunk of stream) length += (chunk as Buffer).length;
    expect(length).toBe(5_000_000);
  });

  it('writes nothing more once the client has left', async () => {
    const { written, write } = chunks(50);
    const stream = await textStream(write());
    await stream.iterator().next();
    stream.destroy();

    await turns();
    expect(written).toMatchObject({ isEnded: true });
    expect(written.count).toBeLessThanOrEqual(2);
  });

  it('writes one chunk of a response without a body', async () => {
    const { written, write } = chunks(50);

    expect(await (await textStream(write(), false)).toArray()).toHaveLength(1);
    expect(written).toEqual({ count: 1, isEnded: true });
  });

  it('fails before the response if the first chunk does', async () => {
    async function* failing(): AsyncGenerator<string, void> {
      yield* [];
      throw new Error('no first chunk');
    }

    await expect(textStream(failing())).rejects.toThrow('no first chunk');
  });

  it('breaks off if a later chunk fails', async () => {
    async function* failing(): AsyncGenerator<string, void> {
      yield 'first';
      throw new Error('no second chunk');
    }
    const read: string[] = [];

    await expect(async () => {
      for await (const chunk of await textStream(failing())) read.push(String(chunk));
    }).rejects.toThrow('no second chunk');
    expect(read).toEqual(['first']);
  });
});
