import { RemoteRefusal, type WorkspaceView } from '@banking/client';
import type { Event, EventPage, EventQuery } from '@banking/domain';
import { World } from '../testing/world.js';
import { StoryEvents } from './play-story.js';

describe('banking story', () => {
  const world = new World();

  beforeAll(() => world.openDemo());
  afterAll(() => world.close());

  it.each(['ftp://127.0.0.1', '127.0.0.1:3000'])('refuses the URL %s with an example', async (url) => {
    const { exitCode, stdout, stderr } = await world.run(['story', '--url', url]);

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('such as http://127.0.0.1:3000');
  });

  it('refuses the URL of a service together with a service of its own', async () => {
    const { exitCode, stdout, stderr } = await world.run(['story', '--cells', '--url', 'http://127.0.0.1:3000']);

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain("option '--cells' cannot be used with option '--url <url>'");
  });

  it('explains how to create missing demo data', async () => {
    await world.query('create table kept as table demo_step; delete from demo_step');
    const { exitCode, stderr } = await world.run(['story'], { DEMO_DATA: 'off' });
    await world.query('insert into demo_step select * from kept; drop table kept');

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^This deployment has no demo data\. Set DEMO_DATA=on.+\n$/);
  });

  it('refuses a deployment whose tokens an identity provider issues', async () => {
    const { exitCode, stderr } = await world.run(['story'], { OIDC_ISSUER: 'https://login.example' });

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/https:\/\/login\.example issues the tokens/);
  });

  it('explains how to start a service that is not reachable', async () => {
    // No process listens on this port, which fetch does not block.
    const { exitCode, stderr } = await world.run(['story', '--url', 'http://127.0.0.1:2']);

    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      'No service is reachable at http://127.0.0.1:2. Start it with npm start, or give its URL with --url.\n',
    );
  });
});

describe('the events of the story', () => {
  const eventOf = (type: string, id: number, changes: Event['changes'] = {}): Event => ({
    id: 1 as never,
    type,
    createdAt: '2026-11-23T09:00:00.000Z' as never,
    sequence: 2,
    resource: { type: type.split('.')[0]!, id },
    changes,
    actor: { type: 'system' },
  });

  /** Events of a workspace that lists these pages, and then none. The first page was there before. */
  async function opened(...pages: (readonly Event[])[]) {
    const lines: string[] = [];
    const queries: EventQuery[] = [];
    const listPage = (query: EventQuery): Promise<EventPage> => {
      queries.push(query);
      return Promise.resolve({ items: pages.shift() ?? [], next: `page ${queries.length}` });
    };
    const workspace = { events: { listPage } } as unknown as WorkspaceView;
    const events = await StoryEvents.open({ workspace, print: (line) => void lines.push(line) });
    return { events, lines, queries };
  }

  it('are printed with type, resource and sequence, from behind those that were there', async () => {
    const { events, lines, queries } = await opened([eventOf('quote.created', 7)], [], [eventOf('quote.created', 8)]);
    await events.printUntil('quote.created', { type: 'quote', id: 8 });

    expect(lines).toEqual(['  event       quote.created               quote 8, sequence 2']);
    expect(queries.map(({ cursor, wait }) => [cursor, wait])).toEqual([
      [undefined, 0],
      ['page 1', 0],
      ['page 2', 5],
    ]);
  });

  it('have their resources in one column, also behind the longest type', async () => {
    const types = ['webhookEndpoint.disabled', 'execution.awaiting_approval'] as const;
    const { events, lines } = await opened(
      [],
      types.map((type) => ({ ...eventOf('quote.created', 8), type })),
    );
    await events.printUntil('execution.awaiting_approval', { type: 'quote', id: 8 });

    expect(new Set(lines.map((line) => line.indexOf('quote 8')))).toEqual(new Set([42]));
    expect(lines).toHaveLength(2);
  });

  it('include those of the payment, also of pages before its order', async () => {
    const { events, lines } = await opened(
      [],
      [
        eventOf('transaction.created', 3),
        eventOf('transaction.created', 4),
        eventOf('transfer.booked', 5, { transactionID: 3 as never }),
      ],
      [
        eventOf('order.placed', 1),
        eventOf('order.placed', 2),
        eventOf('transfer.booked', 8, { transactionID: 6 as never }),
        eventOf('transaction.completed', 6, { transactionID: 3 as never }),
        eventOf('execution.started', 9, { orderID: 1 as never, transactionID: 3 as never }),
      ],
    );
    await events.printUntil('order.placed', { type: 'order', id: 1 });

    expect(lines.map((line) => line.trim().split(/\s+/).slice(1, 4).join(' '))).toEqual([
      'transaction.created transaction 3,',
      'transfer.booked transfer 5,',
      'order.placed order 1,',
      'transfer.booked transfer 8,',
      'transaction.completed transaction 6,',
      'execution.started execution 9,',
    ]);
  });

  it('of a transfer are found by its account', async () => {
    const { events, lines, queries } = await opened([], [eventOf('transfer.booked', 5, { accountID: 6 as never })]);
    const account = { type: 'account', id: 6 } as const;
    await events.printUntil('transfer.booked', account);
    await events.printUntil('transfer.booked', account);

    expect([lines.length, queries.length]).toEqual([1, 2]);
  });

  it('are left out if there is none in time', async () => {
    const { events, lines } = await opened();
    await events.printUntil('order.placed', { type: 'order', id: 1 });
    expect(lines).toEqual([]);
  });

  it('are left out of a service that has none', async () => {
    const refusal = new RemoteRefusal('route_not_found', undefined, {});
    const listPage = jest.fn().mockRejectedValue(refusal);
    const workspace = { events: { listPage } } as unknown as WorkspaceView;
    const events = await StoryEvents.open({ workspace, print: () => undefined });
    await events.printUntil('order.placed', { type: 'order', id: 1 });

    expect(listPage).toHaveBeenCalledTimes(1);
  });
});
