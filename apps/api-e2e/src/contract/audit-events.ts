import type { AuditEvent, AuditQuery } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { sendRequest } from '../responses.js';
import { ADA, EVE, type Service } from '../service.js';
import { idOf } from '../world.js';
import { Payer } from './paying.js';

/** The audit trail, which is recorded shortly after each change. */
export function auditEventsContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);

  const untilRecorded = async (query: AuditQuery): Promise<AuditEvent> =>
    (await until(async () => (await ada.view.auditEvents.listPage(query)).items[0]))!;
  const read = (path: string, accept: string, email = ADA) =>
    sendRequest(service, path, {
      as: email,
      workspace: idOf(service.world, 'workspaces', email === ADA ? 'Northwind Trading' : 'Southwind Imports'),
      headers: { accept },
    });

  describe('GET /audit-events', () => {
    it('has a change with its operation, resource and user', async () => {
      const account = await ada.account();
      const resource = { type: 'account', id: account.id };

      const opened = await untilRecorded({ operation: 'openAccount', resourceType: 'account', resourceId: account.id });

      expect(opened).toMatchObject({ operation: 'openAccount', outcome: 'done', resource, actor: { type: 'user' } });
      expect(opened.hash).toMatch(/^[0-9a-f]{64}$/);
      const { userID: actor } = opened.actor;
      await ada.view.accounts.change(account.id, { status: 'disabled' });
      const query = { resourceId: account.id, actor, operation: 'changeAccount' };
      expect(await untilRecorded(query)).toMatchObject({ operation: 'changeAccount', resource });
    });

    it('is paged, newest first', async () => {
      const { items, next } = await ada.view.auditEvents.listPage({ limit: 2 });
      const more = await ada.view.auditEvents.listPage({ limit: 2, cursor: next });

      const times = [...items, ...more.items].map(({ createdAt }) => createdAt);
      expect(times).toEqual([...times].sort().reverse());
      expect(new Set([...items, ...more.items].map(({ id }) => id)).size).toBe(4);
    });

    it('is a table for a spreadsheet on request', async () => {
      const { status, headers, text } = await read('/audit-events?limit=2', 'text/csv');

      expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8; header=present']);
      expect(headers.get('link')).toMatch(/rel="next"/);
      const [names, ...lines] = text.trimEnd().split('\r\n');
      expect(names).toMatch(/id,createdAt,operation,outcome,reason,/);
      expect(lines).toHaveLength(2);
    });

    it('refuses the cursor of another workspace', async () => {
      const { next = '' } = await ada.view.auditEvents.listPage({ limit: 1 });

      const theirs = await read(`/audit-events?limit=1&cursor=${encodeURIComponent(next)}`, 'application/json', EVE);
      expect(theirs).toMatchObject({ status: 400, body: { reason: 'cursor_invalid' } });
    });

    it.each([
      ['actor=ada', 400, 'id_malformed'],
      ['resourceId=0', 400, 'id_malformed'],
      ['operation=', 400, 'parameter_invalid'],
      ['from=2026-02-02', 400, 'timestamp_invalid'],
      ['from=2026-02-02T00:00:00Z&to=2026-02-01T00:00:00Z', 400, 'timestamp_invalid'],
      ['limit=501', 400, 'limit_invalid'],
      ['outcome=done', 400, 'parameter_unknown'],
    ])('refuses %s', async (query, status, reason) => {
      expect(await read(`/audit-events?${query}`, 'application/json')).toMatchObject({ status, body: { reason } });
    });
  });
}
