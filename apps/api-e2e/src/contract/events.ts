import type { Event, EventQuery } from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, type Service } from '../service.js';
import { idOf } from '../world.js';
import { Payer } from './paying.js';
import { DATA, INDIA } from './recipients.js';
import { faultsIn } from './shapes.js';

/** The record of what happened in a workspace. */
export function eventsContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);
  const linkOf = (headers: Headers) => /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] ?? '';
  /** The position behind all events that are recorded now. */
  const now = async (filters: EventQuery = {}) => {
    for (let cursor: string | undefined; ;) {
      const { items, next } = await ada.view.events.listPage({ ...filters, cursor, limit: 500 });
      if (items.length === 0 && next === cursor) return next;
      cursor = next;
    }
  };

  describe('GET /events', () => {
    it('lists complete events, oldest first, and always links behind them', async () => {
      const { body, headers } = await ada.sendRequest('/events?limit=20');

      const events = body as Event[];
      expect(events).toHaveLength(20);
      expect(events.flatMap((event) => faultsIn(event, 'Event'))).toEqual([]);
      const ids = events.map(({ id }) => id);
      expect(ids).toEqual([...ids].sort((one, other) => one - other));
      const rest = (await ada.sendRequest(linkOf(headers))).body as Event[];
      expect(rest[0]!.id).toBeGreaterThan(ids.at(-1)!);
      expect((await ada.sendRequest(`/events/${ids[0]}`)).body).toEqual(events[0]);
    });

    it('tells the life of a payment abroad, and the client waits for its end', async () => {
      const account = await ada.account('100000000');
      const { resource: asha } = await ada.view.recipients.addInternational({ ...INDIA, data: DATA, saved: false });
      const input = { amount: '250000', recipientID: asha.id, type: 'instant', purposeCode: 'IR002' };
      const placed = (await ada.send(account.id, input)).body as { id: number };

      const name = { accountId: account.id, orderId: placed.id as never };
      const settled = await ada.view.orders.waitFor(name, { until: 'settled', timeoutMs: 60_000 });

      const [execution] = settled.edges.executions!;
      expect(execution?.status).toBe('completed');
      const typesOf = async (resourceType: 'order' | 'execution' | 'transaction', resourceId: number) => {
        const events: Event[] = [];
        // An event follows its change by a moment.
        for await (const event of ada.view.events.follow({ resourceType, resourceId })) {
          events.push(event);
          if (event.type === `${resourceType}.completed`) break;
        }
        expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
        return events.map(({ type }) => type);
      };
      expect(await typesOf('order', placed.id)).toEqual(['order.placed', 'order.completed']);
      expect(await typesOf('execution', execution!.id)).toEqual(['execution.started', 'execution.completed']);
      expect(await typesOf('transaction', execution!.edges.transaction!.id)).toEqual([
        'transaction.created',
        'transaction.completed',
      ]);
    });

    it('holds a request until there is an event', async () => {
      const type = ['account.opened'] as const;
      const cursor = await now({ type });
      const held = ada.sendRequest(`/events?type=account.opened&wait=20&cursor=${cursor}`);
      const account = await ada.account();

      const { body, headers } = await held;
      expect(body).toMatchObject([
        {
          type: 'account.opened',
          resource: { type: 'account', id: account.id },
          changes: { status: { after: 'enabled' } },
        },
      ]);
      expect(linkOf(headers)).toContain('wait=20');
    });

    it('returns the same position if there is no event in time', async () => {
      const cursor = await now({ type: ['account.disabled'], resourceType: 'account' });
      const path = `/events?type=account.disabled&resourceType=account&wait=1&cursor=${cursor}`;
      const { body, status } = await ada.sendRequest(path);
      expect([status, body]).toEqual([200, []]);
    });

    it('is followed by the client until its signal is aborted', async () => {
      const after = await now({ resourceType: 'account' });
      const controller = new AbortController();
      const { signal } = controller;
      const opened = [await ada.account(), await ada.account()].map(({ id }) => id);
      const seen: number[] = [];
      const saved: string[] = [];
      const saveCursor = (cursor: string) => void saved.push(cursor);

      for await (const { resource } of ada.view.events.follow({ after, resourceType: 'account', signal, saveCursor })) {
        if (opened.includes(resource.id as never)) seen.push(resource.id);
        if (seen.length === opened.length) controller.abort();
      }

      expect(seen).toEqual(opened);
    });

    it.each([
      ['type=order.lost', 400, 'parameter_invalid'],
      ['type=order.placed&type=', 400, 'parameter_invalid'],
      ['type[]=order.placed', 400, 'parameter_unknown'],
      ['resourceType=orders', 400, 'parameter_invalid'],
      ['resourceType=order&resourceType=account', 400, 'parameter_repeated'],
      ['resourceId=1', 400, 'parameter_invalid'],
      ['resourceType=order&resourceId=01', 400, 'id_malformed'],
      ['createdFrom=2026-13-45', 400, 'timestamp_invalid'],
      ['createdFrom=2026-02-02T00:00:00Z&createdTo=2026-02-01T00:00:00Z', 400, 'timestamp_invalid'],
      ['wait=21', 400, 'parameter_invalid'],
      ['wait=1.5', 400, 'parameter_invalid'],
      ['wait=1&wait=1', 400, 'parameter_repeated'],
      ['limit=501', 400, 'limit_invalid'],
      ['cursor=%00', 400, 'cursor_invalid'],
      ['cursor=x&wait=20', 400, 'cursor_invalid'],
      ['colour=blue', 400, 'parameter_unknown'],
    ])('refuses %s', async (query, status, reason) => {
      expect(await ada.sendRequest(`/events?${query}`)).toMatchObject({ status, body: { reason } });
    });

    it('refuses a cursor of another workspace, or with other filters', async () => {
      const { next } = await ada.view.events.listPage({ limit: 1 });
      const elsewhere = { as: ADA, workspace: idOf(service.world, 'workspaces', 'Ada personal') };

      const refused = { status: 400, body: { reason: 'cursor_invalid' } };
      expect(await sendRequest(service, `/events?cursor=${next}&wait=20`, elsewhere)).toMatchObject(refused);
      expect(await ada.sendRequest(`/events?cursor=${next}&type=order.placed`)).toMatchObject(refused);
      expect(await ada.sendRequest(`/events?cursor=${next}&limit=2&wait=0`)).toMatchObject({ status: 200 });
    });
  });

  describe('GET /events/{eventId}', () => {
    it.each([
      ['9007199254740991', 404, 'event_not_found'],
      ['0', 400, 'id_malformed'],
      ['first', 400, 'id_malformed'],
    ])('refuses %s', async (id, status, reason) => {
      expect(await ada.sendRequest(`/events/${id}`)).toMatchObject({ status, body: { reason } });
    });
  });
}
