import type { DemoIds } from '@banking/operations/demo';
import { World } from './testing/world.js';

const world = new World();

beforeAll(() => world.open());
afterAll(() => world.close());

describe('banking demo', () => {
  it('explains how to create the demo data if DEMO_DATA is off', async () => {
    const { exitCode, stdout, stderr } = await world.run(['demo'], { DEMO_DATA: 'off' });

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/Set DEMO_DATA=on/);
  });

  it('creates the demo data, and prints its ids by name', async () => {
    const demo = await world.json<DemoIds>('demo');

    expect(Object.keys(demo)).toEqual(['apps', 'users', 'workspaces', 'accounts', 'recipients', 'transfers']);
    expect(Object.keys(demo.users)).toEqual([
      'ada@northwind.example',
      'bob@northwind.example',
      'cy@northwind.example',
      'eve@southwind.example',
      'gateway@northwind.example',
    ]);
    expect(Object.keys(demo.recipients).sort()).toEqual(['internal', 'international']);
    expect(Object.keys(demo.transfers).sort()).toEqual([
      'funding',
      'internal',
      'international',
      'pending',
      'returned',
      'spot',
    ]);
    expect(demo.accounts).toHaveProperty('Northwind Trading USD', expect.any(Number));
    const ids = Object.values(demo).flatMap((names) => Object.values(names as Record<string, number>));
    expect(ids.every((id) => Number.isSafeInteger(id) && id > 0)).toBe(true);
  });

  it('prints the same ids as a table without --json', async () => {
    const demo = await world.json<DemoIds>('demo');
    const { stdout } = await world.run(['demo']);

    const [head, ...rows] = stdout.trimEnd().split('\n');
    const names = Object.values(demo).flatMap((ids) => Object.entries(ids as Record<string, number>));
    expect(head).toMatch(/^Kind +Name +Id$/);
    expect(rows.map((row) => /^\w+ +(.+?) +(\d+)$/.exec(row)?.slice(1))).toEqual(
      names.map(([name, id]) => [name, String(id)]),
    );
  });
});
