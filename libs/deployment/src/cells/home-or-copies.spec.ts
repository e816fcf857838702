import { Refusal } from '@banking/domain';
import { COPIES_VALID_MS, HomeOrCopies } from './cells-directory.js';

/** Ends a call of home that has no answer yet. */
interface Asked {
  answer(): void;
  fail(): void;
}

let nowMs: number;
let asked: Asked[];
let homeOrCopies: HomeOrCopies<() => Promise<string>>;

/** Home does not answer by itself. */
beforeEach(() => {
  nowMs = 0;
  asked = [];
  const home = () =>
    new Promise<string>((resolve, reject) => {
      asked.push({ answer: () => resolve('home'), fail: () => reject(new Refusal('unavailable')) });
    });
  homeOrCopies = new HomeOrCopies(
    home,
    () => [() => Promise.resolve('copy')],
    () => nowMs,
  );
});

const read = () => homeOrCopies.read((source) => source());

async function failOnce(): Promise<void> {
  const first = read();
  asked.at(-1)!.fail();
  expect(await first).toBe('copy');
}

describe('home or its copies', () => {
  it('are asked in that order', async () => {
    const first = read();
    asked[0]!.answer();
    expect(await first).toBe('home');
    await failOnce();
    expect(asked).toHaveLength(2);
  });

  it('ask the copies alone for a second after home did not answer', async () => {
    await failOnce();

    nowMs = 999;
    const others = [read(), read()];
    expect(asked).toHaveLength(1);
    expect(await Promise.all(others)).toEqual(['copy', 'copy']);
  });

  it('try home by one call, and read the copies until it has ended', async () => {
    await failOnce();
    nowMs = 1_000;
    const trying = read();

    nowMs = 10_000;
    const others = [read(), read(), read()];
    expect(asked).toHaveLength(2);
    expect(await Promise.all(others)).toEqual(['copy', 'copy', 'copy']);

    asked[1]!.answer();
    expect(await trying).toBe('home');
    const next = read();
    asked[2]!.answer();
    expect(await next).toBe('home');
  });

  it('are home alone when the copies are no longer valid', async () => {
    await failOnce();
    nowMs = COPIES_VALID_MS;

    const reads = [read(), read()];
    expect(asked).toHaveLength(3);
    asked.slice(1).forEach(({ fail }) => fail());
    for (const one of reads) await expect(one).rejects.toMatchObject({ reason: 'unavailable' });
  });
});
