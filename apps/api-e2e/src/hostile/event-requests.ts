import type { HostileCase } from './hostile-case.js';

const INVALID = { status: 400, reason: 'parameter_invalid' };
const TWICE = { status: 400, reason: 'parameter_repeated' };
const NO_ID = { status: 400, reason: 'id_malformed' };
const NO_CURSOR = { status: 400, reason: 'cursor_invalid' };

const ask = (query: string, refused: Pick<HostileCase, 'status' | 'reason'>): HostileCase => ({
  what: `events with ${query.slice(0, 60)}`,
  path: `/events?${query}`,
  ...refused,
});
const each = (name: string, values: readonly string[], refused: Pick<HostileCase, 'status' | 'reason'>) =>
  values.map((value) => ask(`${name}=${value}`, refused));

/** Queries of the list of events, which a service may hold. */
export const EVENTS: readonly HostileCase[] = [
  ...each(
    'type',
    [
      'order.lost',
      'ORDER.PLACED',
      'order.placed%20',
      'order.placed,order.failed',
      '*',
      'order.*',
      '%00',
      '',
      '__proto__',
      "order.placed'%20or%20'1'='1",
      'A'.repeat(4_000),
    ],
    INVALID,
  ),
  ask('type=order.placed&type=order.lost', INVALID),
  ask(`${'type=order.placed&'.repeat(200)}type=constructor`, INVALID),
  ...each('resourceType', ['orders', 'Order', 'order,account', '%00', 'toString', 'A'.repeat(4_000)], INVALID),
  ...each('wait', ['-1', '21', '1.5', '1e1', '0x10', '+1', '%D9%A3', '%00', 'NaN', '99999999999999999999'], INVALID),
  ask('resourceId=1', INVALID),
  ask('resourceId=1&type=order.placed&wait=20', INVALID),
  ...each(
    'resourceType=order&resourceId',
    ['0', '-1', '01', '1.5', '1e3', 'null', '%00', '1%20', '9007199254740992', '9'.repeat(30), '9'.repeat(3_000)],
    NO_ID,
  ),
  ask('resourceType=order&resourceType=account', TWICE),
  ask('resourceType=order&resourceId=1&resourceId=2', TWICE),
  ask('wait=1&wait=2', TWICE),
  ask('limit=1&limit=2', TWICE),
  ask('createdFrom=2026-01-01T00:00:00Z&createdFrom=2026-01-02T00:00:00Z', TWICE),
  ask('cursor={cursor}&cursor={cursor}', TWICE),
  ask('cursor={foreign}', NO_CURSOR),
  ask('cursor={foreign}&wait=20', NO_CURSOR),
  ask('cursor={transfers}', NO_CURSOR),
  ask('cursor={cursor}&type=order.placed', NO_CURSOR),
  ask('cursor={cursor}&resourceType=order&resourceId=1', NO_CURSOR),
  ask('cursor={cursor}A', NO_CURSOR),
  ask('cursor={cursor}%3D', NO_CURSOR),
  ...each('cursor', ['0', 'AAAA', '%00', 'null', '..%2F', 'A'.repeat(4_000)], NO_CURSOR),
  ask('type%5B%5D=order.placed', { status: 400, reason: 'parameter_unknown' }),
  ask('Wait=20', { status: 400, reason: 'parameter_unknown' }),
  ask('wait=20&colour=blue', { status: 400, reason: 'parameter_unknown' }),
  ...['0', '01', '-1', '1.5', '%00', '9007199254740992', '9'.repeat(30)].map((id) => ({
    what: `event ${id.slice(0, 20)}`,
    path: `/events/${id}`,
    ...NO_ID,
  })),
  {
    what: 'an event that does not exist',
    path: '/events/9007199254740991',
    status: 404,
    reason: 'event_not_found',
  },
];
