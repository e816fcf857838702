import { emptyWorld, sql, type World } from '../testing/worlds.js';
import { ReadingTogether } from './reading-together.js';

let world: World;

beforeAll(async () => {
  world = await emptyWorld();
});
afterAll(() => world.close());

/** Halves of numbers as the database reads them, and how many were read each time. */
function halves() {
  const sizes: number[] = [];
  const together = new ReadingTogether<string, string>(async (texts) => {
    sizes.push(texts.length);
    const [rows] = await world.database.flight({}, [
      sql<{ half: string }>('select (text::numeric / 2)::text as half from unnest($1::text[]) as asked (text)', texts),
    ] as const);
    return rows.map(({ half }) => half);
  });
  return { sizes, together };
}

describe('Given what is read together', () => {
  it('When some ask in the same turn, Then one round trip answers each with its own', async () => {
    const { sizes, together } = halves();

    const answers = await Promise.all(['2', '4', '6'].map((text) => together.ask(text)));

    expect(answers.map(Number)).toEqual([1, 2, 3]);
    expect(sizes).toEqual([3]);
  });

  it('When the database objects to one, Then it is refused to that one alone', async () => {
    const { sizes, together } = halves();

    const answers = await Promise.allSettled(['2', 'two', '6'].map((text) => together.ask(text)));

    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(sizes).toEqual([3, 2, 1, 1, 1]);
  });

  it('When the reading itself is at fault, Then all are told, and it is not tried again', async () => {
    let tries = 0;
    const together = new ReadingTogether<number, number>(() => Promise.reject(new Error(`a bug, ${++tries}`)));

    const answers = await Promise.allSettled([together.ask(1), together.ask(2)]);

    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(tries).toBe(1);
  });
});
