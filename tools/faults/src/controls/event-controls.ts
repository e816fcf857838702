import type { Control } from './control.js';

const MIGRATION = 'libs/operations/migrations/0050-events.sql';
const COMMIT_ORDER = 'libs/operations/src/events/commit-order.spec.ts';

/** Faults in the record of changes. */
export const EVENT_CONTROLS: readonly Control[] = [
  {
    name: 'recorder-by-position',
    promise: 'P18',
    plants:
      'The recorder continues after the greatest id that it has taken, so a change that is committed later is lost.',
    changes: [
      {
        file: MIGRATION,
        from: 'create table change_outbox (',
        to: 'create sequence recorded_position maxvalue 9007199254740991;\ncreate table change_outbox (',
      },
      {
        file: MIGRATION,
        from: 'from change_outbox c order by c.id limit events_max',
        to: 'from change_outbox c where c.id > (select last_value from recorded_position) order by c.id limit events_max',
      },
      {
        file: MIGRATION,
        from: '  delete from change_outbox where id = any(taken);',
        to:
          '  delete from change_outbox where id = any(taken);\n' +
          "  perform setval('recorded_position', (select max(t.id) from unnest(taken) t (id)));",
      },
    ],
    caughtBy: [{ spec: COMMIT_ORDER, test: 'a change that is committed late is recorded late' }],
  },
  {
    name: 'two-recorders',
    promise: 'P18',
    plants: 'Two sessions record at the same time, so an event becomes visible before one with a smaller id.',
    changes: [
      {
        file: MIGRATION,
        from: "  if not pg_try_advisory_xact_lock(hashtextextended('banking.events', 0)) then\n    return null;\n  end if;\n",
        to: '',
      },
    ],
    caughtBy: [{ spec: COMMIT_ORDER, test: 'one session records at a time, and another does nothing meanwhile' }],
  },
  {
    name: 'step-without-event',
    promise: 'P18',
    plants: 'A transaction that gets its final status makes no event.',
    changes: [
      {
        file: MIGRATION,
        from:
          'create trigger note_updates after update on transaction\n' +
          '  referencing old table as former new table as fresh for each statement execute function note_updates();\n',
        to: '',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/operations/src/events/events-of-payouts-and-runs.spec.ts',
        test: 'that arrives tell it once the network reports it',
        message: 'transaction.completed pending>completed',
      },
    ],
  },
  {
    name: 'deletion-untold',
    promise: 'P18',
    plants: 'A reader whose events were deleted gets the rest of them, and does not learn that some are missing.',
    changes: [
      {
        file: 'libs/operations/src/events/list-events.ts',
        from: "  if (page.deletedTo > after && page.deletedTo > known) throw new Refusal('cursor_expired');\n",
        to: '',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/operations/src/events/expired-cursors.spec.ts',
        test: 'is refused if events behind it were deleted',
      },
    ],
  },
];
