import {
  EVENT_TYPES,
  FINAL_EVENT_TYPES,
  isEventType,
  EVENT_RESOURCE_TYPES,
  type EventResourceType,
} from './event-types.js';
import {
  ACCOUNT_STEPS,
  DEPOSIT_STEPS,
  EXECUTION_STEPS,
  isLegalStep,
  ORDER_STEPS,
  PAYOUT_STEPS,
  type Steps,
  TRANSACTION_STEPS,
  WEBHOOK_ENDPOINT_STEPS,
} from './states.js';

/** The state tables of the resources that have events. */
const TABLES: readonly (readonly [EventResourceType, Steps])[] = [
  ['order', ORDER_STEPS],
  ['execution', EXECUTION_STEPS],
  ['transaction', TRANSACTION_STEPS],
  ['account', ACCOUNT_STEPS],
  ['deposit', DEPOSIT_STEPS],
  ['webhookEndpoint', WEBHOOK_ENDPOINT_STEPS],
];

/** The types whose steps include one. */
const typesOf = (resource: EventResourceType, before: string | null, after: string): readonly string[] =>
  EVENT_TYPES.filter((row) => row.resource === resource)
    .filter(({ steps }) => steps.some(([from, to]) => from === before && to === after))
    .map(({ type }) => type);

describe.each(TABLES)('the events of each %s', (resource, table) => {
  const steps = Object.entries(table).flatMap(([from, next]) => next.map((to) => [from, to] as const));

  it.each(steps)('have one type for the step from %s to %s', (from, to) => {
    expect(typesOf(resource, from, to)).toHaveLength(1);
  });

  it('have no step besides those of the state table, and creations', () => {
    const listed: string[] = EVENT_TYPES.filter((row) => row.resource === resource)
      .flatMap((row): readonly (readonly [string | null, string])[] => row.steps)
      .filter(([from]) => from !== null)
      .map(String);

    expect(listed.sort()).toEqual(steps.map(String).sort());
  });

  it('have one type for each status that a new resource can have', () => {
    const begun = EVENT_TYPES.filter((row) => row.resource === resource)
      .flatMap((row): readonly (readonly [string | null, string])[] => row.steps)
      .filter(([from]) => from === null)
      .map(([, to]) => to);

    expect(begun.length).toBeGreaterThan(0);
    expect(new Set(begun).size).toBe(begun.length);
    expect(Object.keys(table)).toEqual(expect.arrayContaining(begun));
  });
});

describe('the events of each payout', () => {
  it('have steps of the state table only', () => {
    const steps = EVENT_TYPES.filter(({ resource }) => resource === 'payout').flatMap(
      (row): readonly (readonly [string | null, string])[] => row.steps,
    );

    expect(steps.length).toBeGreaterThan(0);
    expect(steps.filter(([from, to]) => from === null || !isLegalStep(PAYOUT_STEPS, from, to))).toEqual([]);
  });
});

describe('the types of events', () => {
  it('begin with the resource, and are listed once', () => {
    const types = EVENT_TYPES.map(({ type }) => type);

    expect(new Set(types).size).toBe(types.length);
    for (const { type, resource } of EVENT_TYPES) expect(type).toMatch(new RegExp(`^${resource}[.][a-z]+(_[a-z]+)?$`));
  });

  it.each(EVENT_RESOURCE_TYPES.filter((resource) => resource !== 'payout'))(
    'include the creation of each %s',
    (resource) => {
      expect(EVENT_TYPES.filter((row) => row.resource === resource && 'isCreation' in row)).not.toEqual([]);
    },
  );

  it('are final where no step and no other type can follow', () => {
    for (const [resource, table] of [...TABLES, ['payout', PAYOUT_STEPS]] as typeof TABLES) {
      const rows = EVENT_TYPES.filter((one) => one.resource === resource);
      const during = rows.flatMap((row): readonly string[] => ('during' in row ? row.during : []));
      for (const { type, steps, ...row } of rows) {
        if (steps.length === 0) {
          expect([type, 'during' in row]).toEqual([type, true]);
          continue;
        }
        const ends = steps.every(([, to]) => table[to]?.length === 0 && !during.includes(to));
        expect([type, FINAL_EVENT_TYPES.includes(type)]).toEqual([type, ends]);
      }
      expect(Object.keys(table)).toEqual(expect.arrayContaining(during));
    }
  });

  it('that create a resource without states are final where its resource has no other type', () => {
    const withStates = [...TABLES.map(([resource]) => resource), 'payout'];
    for (const row of EVENT_TYPES.filter((one) => 'isCreation' in one && !withStates.includes(one.resource))) {
      // A list that is replaced has the same event each time.
      const isOnly =
        row.resource !== 'limits' && EVENT_TYPES.filter(({ resource }) => resource === row.resource).length === 1;
      expect([row.type, FINAL_EVENT_TYPES.includes(row.type)]).toEqual([row.type, isOnly]);
    }
  });

  it('are recognised by their text', () => {
    expect(isEventType('order.placed')).toBe(true);
    expect(isEventType('order.Placed')).toBe(false);
    expect(isEventType('toString')).toBe(false);
  });
});
