import type { Control } from './control.js';

const MIGRATION = 'libs/operations/migrations/0056-webhook-deliveries.sql';
const LEASES = 'libs/webhooks/src/failing-endpoints.spec.ts';

/** Faults in the delivery of webhooks. */
export const WEBHOOK_CONTROLS: readonly Control[] = [
  {
    name: 'webhook-without-fence',
    promise: 'P19',
    plants: 'A worker whose lease was taken by another one still records its results and the cursor.',
    changes: [
      { file: MIGRATION, from: 'e.id = endpoint and e.lease_token = held_token and', to: 'e.id = endpoint and' },
    ],
    caughtBy: [{ spec: LEASES, test: 'lets a worker that lost it record nothing' }],
  },
  {
    name: 'cursor-before-sending',
    promise: 'P19',
    plants: 'The cursor advances to the last event that was read, so a crash loses those that were not sent.',
    changes: [
      {
        file: 'libs/webhooks/src/endpoint-session.ts',
        from: 'const cursor = first === undefined ? this.readTo : first - 1n;',
        to: 'const cursor = first === undefined ? this.readTo : this.readTo;',
      },
    ],
    caughtBy: [{ spec: LEASES, test: 'leaves events whose request has not ended to the next worker' }],
  },
  {
    name: 'resources-in-parallel',
    promise: 'P19',
    plants: 'Events of one resource are sent at the same time.',
    changes: [
      {
        file: 'libs/webhooks/src/resource-queue.ts',
        from: '    if (behind) return void behind.push(item);\n',
        to: '',
      },
    ],
    caughtBy: [
      { spec: 'libs/webhooks/src/webhook-delivery.spec.ts', test: 'sends the events of a resource one after another' },
    ],
  },
  {
    name: 'address-checked-before',
    promise: 'webhooks',
    plants:
      'The address of a receiver is not checked when the connection is made, so a name that resolves anew passes.',
    changes: [
      {
        file: 'libs/webhooks/src/outbound-request.ts',
        from: 'addresses.some(({ address }) => isRefusedAddress(address, policy))',
        to: 'policy.refusedNetworks.check(hostname)',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/webhooks/src/outbound-request.spec.ts',
        test: 'is checked for the connection that is made, so that a name that resolves anew gains nothing',
      },
    ],
  },
  {
    name: 'retention-without-cursor',
    promise: 'webhooks',
    plants: 'Old events are deleted before a failing endpoint got them.',
    changes: [{ file: MIGRATION, from: 'where o.id <= delivered_to\n          and (select', to: 'where (select' }],
    caughtBy: [
      {
        spec: 'libs/operations/src/webhooks/events-of-endpoints.spec.ts',
        test: 'stay until each endpoint that is not disabled has passed them',
      },
    ],
  },
];
