import { compare, tableOf } from './compare.js';

const run = (...perSecond: number[]) => {
  const left = [...perSecond];
  return async () => ({ perSecond: left.shift()!, p50Ms: 2, p99Ms: 9 });
};

it('judges the ratio of each round by itself, and alternates who goes first', async () => {
  const order: string[] = [];
  const noted = (name: string, side: () => ReturnType<ReturnType<typeof run>>) => () => (order.push(name), side());
  const figure = await compare(
    {
      ...{ name: 'GET /a_{id}', control: 'less', aim: 0.6, warmsUp: true },
      ours: noted('ours', run(50, 100, 10)),
      theirs: noted('theirs', run(100, 400, 10)),
    },
    { rounds: 3, seconds: 1, connections: 1, onProgress: () => undefined },
  );

  expect(order).toEqual(['ours', 'theirs', 'theirs', 'ours', 'ours', 'theirs']);
  expect(figure.value).toEqual({ median: 0.5, min: 0.25, max: 1 });
  expect(tableOf([figure]).split('\n').at(-1)).toMatch(
    /^\| `GET \/a_\{id\}` \| less +\| ≥ 0.60 \| 0.50 \(0.25 to 1.00\), \*\*missed\*\* \| 50.0 +\| 100 +\| 9.00 ms \|/,
  );
});
