import { once } from 'node:events';
import { bind, sqlStatement } from '@banking/postgres';
import { reasonOf } from '@banking/postgres/testing';
import { demoDatabase } from '../testing/test-databases.js';
import { createOnce, type Creation } from './create-once.js';

const RESOURCE = sqlStatement<{ resource: { id: number } }>('spec.resource', `select '{"id":7}'::json as resource`);

const creation: Creation<{ id: number }> = { writes: [], resource: bind(RESOURCE) };

let world: Awaited<ReturnType<typeof demoDatabase>>;
let workspaceId: number;

beforeAll(async () => {
  world = await demoDatabase();
  workspaceId = world.demo.workspaces['Northwind Trading']!;
});
afterAll(() => world.close());

const create = (idempotencyKey: string, decide: () => Promise<typeof creation>) => {
  const request = { workspaceId, operation: 'openAccount', content: {} };
  return createOnce(world.database, request, { idempotencyKey }, undefined, decide);
};

describe('a creation with a key', () => {
  it('refuses a request while another one with its key is carried out', async () => {
    const steps = new EventTarget();
    const isBegun = once(steps, 'begun');
    const mayEnd = once(steps, 'end');
    const first = create('race', async () => {
      steps.dispatchEvent(new Event('begun'));
      await mayEnd;
      return creation;
    });
    await isBegun;
    const decide = jest.fn(() => Promise.resolve(creation));

    const second = await reasonOf(create('race', decide));
    steps.dispatchEvent(new Event('end'));

    expect(second).toBe('idempotency_in_progress');
    expect(await first).toEqual({ resource: { id: 7 }, isReplay: false });
    expect(await create('race', decide)).toEqual({ resource: { id: 7 }, isReplay: true });
    expect(decide).not.toHaveBeenCalled();
  });

  it('is carried out beside a creation with another key', async () => {
    const both = create('one', () => create('two', () => Promise.resolve(creation)).then(() => creation));

    expect(await both).toEqual({ resource: { id: 7 }, isReplay: false });
  });
});
