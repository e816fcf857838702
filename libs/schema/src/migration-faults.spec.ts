import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAtLeast, readMigrations } from '@banking/postgres';
import { MIGRATIONS } from './index.js';
import { migrationFaults, type CheckedMigration } from './testing/migration-faults.js';

/** All packages of the service have the same version. */
const { version: RELEASE } = JSON.parse(readFileSync(join(__dirname, '../package.json'), 'utf8')) as {
  version: string;
};

const OUTSIDE = '-- Outside a transaction: the table is large.';

/** A migration of the text, after the files that came before it. */
function faultsOf(text: string, phase: 'expand' | 'contract' = 'expand', earlier: readonly string[] = []): string[] {
  const migrationOf = (one: string): CheckedMigration => ({
    name: '0047-canary.sql',
    text: one,
    phase: { name: phase },
    statements: one.startsWith(OUTSIDE) ? [] : undefined,
  });
  return migrationFaults(migrationOf(text), earlier.map(migrationOf)).map((fault) =>
    fault.replace('0047-canary.sql: ', ''),
  );
}

describe('the migrations after the baseline', () => {
  it('state a phase, for a release that exists', async () => {
    // Reading refuses a file without a phase.
    const migrations = await readMigrations(MIGRATIONS);

    const tooNew = migrations.filter(({ phase }) => phase?.name === 'contract' && !isAtLeast(RELEASE, phase.since));
    expect(tooNew.map(({ name }) => name)).toEqual([]);
  });

  it('block no large table and remove nothing that the previous release uses', async () => {
    const migrations = await readMigrations(MIGRATIONS);

    const faults = migrations
      .filter(({ number }) => number > MIGRATIONS.baseline)
      .flatMap((migration) => migrationFaults(migration, migrations.slice(0, migration.number - 1)));

    expect(faults).toEqual([]);
  });

  it('are checked, as the migrations up to the baseline show', async () => {
    const migrations = await readMigrations(MIGRATIONS);

    const faults = migrations.flatMap((migration) => migrationFaults(migration, []));

    expect(faults.length).toBeGreaterThan(5);
  });
});

describe('a statement of a migration', () => {
  it.each([
    ['alter table transfer alter column purpose set not null;', 'validate a check "is not null"'],
    ['alter table transfer add constraint t check (amount > 0);', 'add it "not valid"'],
    ['alter table transfer add constraint t foreign key (a) references account;', 'add it "not valid"'],
    ['alter table transfer add constraint t unique (id);', 'use an index built concurrently'],
    ['alter table transfer add primary key (id);', 'is not known'],
    ['create index transfer_by_purpose on transfer (purpose);', 'build it concurrently'],
    ['create unique index if not exists t on banking.transfer (purpose);', 'build it concurrently'],
    ['alter table transfer alter column amount type numeric;', 'is not known'],
    ['alter table transfer add column token uuid default gen_random_uuid();', 'may differ for each row'],
    [
      'alter table transfer add column a int, add column b timestamptz not null default clock_timestamp();',
      'may differ',
    ],
    ['alter table transfer add column place bigserial;', 'writes the whole table again'],
    ['alter table transfer add column half bigint generated always as (amount / 2) stored;', 'writes the whole table'],
    ['alter table transfer add column kind text not null;', 'fails on rows that exist'],
    ['alter table transfer add column kind text check (kind > 0);', 'has a constraint'],
    ['alter table transfer add column other bigint references account;', 'has a constraint'],
    ['alter table transfer validate constraint t;', 'outside a transaction'],
    ['alter table transfer set logged;', 'is not known'],
    ['alter table transfer rename to movement;', 'is not known'],
    ['alter table transfer rename column amount to sum;', 'is not known'],
    ['alter table transfer drop column purpose;', 'its phase must be contract'],
    ['drop table quote_use;', 'its phase must be contract'],
    ['drop function digest_of(text);', 'its phase must be contract'],
    ['revoke select on transfer from banking_api;', 'its phase must be contract'],
    ['update transfer set purpose = null;', 'in batches'],
    ['delete from idempotency;', 'in batches'],
    ['insert into currency select id from transfer;', 'reads all of transfer'],
    ['do $$ begin update transfer set purpose = null; end $$;', 'is not known'],
    ['truncate idempotency;', 'is not known'],
    ['vacuum full transfer;', 'is not known'],
    ['cluster transfer;', 'is not known'],
    ['reindex table transfer;', 'is not known'],
    ['drop index transfer_by_id;', 'is not known'],
  ])('is refused, such as %j', (statement, reason) => {
    expect(faultsOf(`-- Canary.\n-- Phase: expand\n${statement}`)).toEqual([expect.stringContaining(reason)]);
  });

  it.each([
    `create table note (id bigint primary key, body text);
     create index note_by_body on note (body);
     alter table note add constraint body check (body <> '; drop table');
     insert into note values (1, 'a; truncate transfer');`,
    `alter table transfer add column note text, add column seen boolean not null default false;`,
    `alter table transfer add constraint t check (amount > 0) not valid; -- update transfer set a = 1;`,
    `drop trigger t on transfer;
     create or replace function f() returns trigger language plpgsql as $body$ begin update transfer set a = 1; end $body$;
     create trigger t after insert on transfer for each statement execute function f();
     create constraint trigger c after insert on transfer deferrable initially deferred for each row execute function f();`,
    `drop function f(text); create function f(text, int) returns int language sql as 'select 1';`,
    `update corridor set delivery_tat = 'T+1'; grant select on corridor to banking_api;`,
  ])('is accepted, such as %j', (text) => {
    expect(faultsOf(`-- It's fine.\n-- Phase: expand\n${text}`)).toEqual([]);
  });

  it('may read a large table outside a database transaction', () => {
    const text = `${OUTSIDE}\n-- Phase: expand
      drop index concurrently if exists transfer_by_purpose;
      create index concurrently transfer_by_purpose on transfer (workspace_id, purpose);
      alter table transfer validate constraint t;
      analyze transfer;`;

    expect(faultsOf(text)).toEqual([]);
  });

  it('may remove a column and make one not null in a contract migration, after a validated check', () => {
    const earlier = [
      'alter table transfer add constraint known check (purpose is not null) not valid;',
      `${OUTSIDE}\nalter table transfer validate constraint known;`,
    ];
    const text = 'alter table transfer alter column purpose set not null, drop column description; drop table note;';

    expect(faultsOf(text, 'contract', earlier)).toEqual([]);
    expect(faultsOf(text, 'contract', earlier.slice(0, 1))).toEqual([expect.stringContaining('validate a check')]);
    expect(faultsOf(text, 'expand', earlier)).toHaveLength(3);
  });
});
