import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectionTo, hostsOf, readDatabaseUrl, STANDBY } from './database-url.js';
import { readerOf } from './environment-reader.js';

const REMOTE = 'postgres://app:hunter2@db.example/banking';
const LOCAL = 'postgres://app@127.0.0.1/banking';

function read(url: string, isTlsRequired = true) {
  const reader = readerOf({ DATABASE_URL: url });
  const value = readDatabaseUrl(reader, 'DATABASE_URL', isTlsRequired);
  return {
    mode: value === undefined ? undefined : new URL(value).searchParams.getAll('sslmode'),
    mistakes: reader.mistakes,
  };
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'database-url-'));
  writeFileSync(join(folder, 'text.crt'), 'no certificate');
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('the URL of a database on another host', () => {
  it.each([
    REMOTE,
    `${REMOTE}?sslmode=verify-full`,
    `${REMOTE}?ssl=true`,
    `${REMOTE}?sslrootcert=system`,
    'postgres://app@10.0.0.5:6432/banking',
    'postgres://app@[2001:db8::1]/banking',
    'postgres://app@127.example.com/banking',
    'postgres://app@localhost.example/banking',
    // The driver connects to the host of the query.
    'postgres://app@localhost/banking?host=db.example',
    'postgres://app@localhost/banking?host=localhost&host=db.example',
  ])('requires verify-full for %s', (url) => {
    expect(read(url)).toEqual({ mode: ['verify-full'], mistakes: [] });
    expect(connectionTo(url).ssl).toEqual({ rejectUnauthorized: true });
  });

  it.each(['disable', 'allow', 'prefer', 'require', 'no-verify', 'verify-ca'])(
    'refuses sslmode=%s, unless DATABASE_TLS=off',
    (mode) => {
      const url = `${REMOTE}?sslmode=${mode}`;
      const { mistakes } = read(url);

      expect(mistakes).toEqual([
        expect.stringMatching(new RegExp(`^DATABASE_URL names another host with sslmode=${mode},.+DATABASE_TLS=off`)),
      ]);
      expect(mistakes.join()).not.toContain('hunter2');
      expect(read(url, false)).toEqual({ mode: [mode], mistakes: [] });
    },
  );

  it.each([
    ['ssl=false', 'disable'],
    ['ssl=0', 'disable'],
    ['ssl=no-verify', 'no-verify'],
    ['ssl=true&sslmode=require', 'require'],
    ['sslmode=verify-full&sslmode=disable', 'disable'],
  ])('reads %s as sslmode=%s', (query, mode) => {
    expect(read(`${REMOTE}?${query}`).mistakes).toEqual([expect.stringContaining(`sslmode=${mode}, which`)]);
    expect(read(`${REMOTE}?${query}`, false)).toEqual({ mode: [mode], mistakes: [] });
  });

  it('uses no TLS with DATABASE_TLS=off and no sslmode', () => {
    expect(read(REMOTE, false)).toEqual({ mode: ['disable'], mistakes: [] });
  });
});

describe('the URL of a database on this machine', () => {
  it.each([
    LOCAL,
    'postgres://app@localhost/banking',
    'postgres://app@[::1]/banking',
    'postgres://app@localhost/banking?host=/var/run/postgresql',
    'postgres://app@%2Fvar%2Frun%2Fpostgresql/banking',
    'postgres://app@db.example/banking?host=/var/run/postgresql',
    'postgres:///banking',
  ])('uses no TLS for %s', (url) => {
    expect(read(url)).toEqual({ mode: ['disable'], mistakes: [] });
    expect(connectionTo(url).ssl).toBe(false);
  });

  it('uses localhost without a host, and ignores PGHOST', () => {
    expect(connectionTo('postgres:///banking').connectionString).toBe('postgres:///banking?host=localhost');
  });

  it('uses the TLS settings of libpq for each sslmode', () => {
    const modeOf = (mode: string) => connectionTo(`${LOCAL}?sslmode=${mode}`).ssl;

    expect(modeOf('verify-full')).toEqual({ rejectUnauthorized: true });
    expect(modeOf('verify-ca')).toEqual({
      rejectUnauthorized: true,
      checkServerIdentity: expect.any(Function) as unknown,
    });
    expect(modeOf('require')).toEqual({ rejectUnauthorized: false });
    expect(modeOf('prefer')).toBe(false);
  });
});

describe('a URL with several hosts', () => {
  const SEVERAL = 'postgres://app:hunter2@db-a.example:5433,db-b.example,[2001:db8::1]:5434/banking';
  const readText = (url: string, isTlsRequired = true) => {
    const reader = readerOf({ DATABASE_URL: url });
    return { text: readDatabaseUrl(reader, 'DATABASE_URL', isTlsRequired), mistakes: reader.mistakes };
  };

  it('is read as one connection for each host, in this order', () => {
    const { text = '', mistakes } = readText(`${SEVERAL}?target_session_attrs=read-write&sslmode=verify-full`);

    expect(mistakes).toEqual([]);
    expect(connectionTo(text)).toEqual({
      connectionString: 'postgres://app:hunter2@db-a.example:5433/banking',
      otherHosts: ['postgres://app:hunter2@db-b.example/banking', 'postgres://app:hunter2@[2001:db8::1]:5434/banking'],
      ssl: { rejectUnauthorized: true },
    });
    expect(hostsOf(text)).toBe('db-a.example:5433, db-b.example, [2001:db8::1]:5434');
  });

  it('requires verify-full if one of the hosts is another one', () => {
    const mixed = 'postgres://app@127.0.0.1:5432,db.example:5432/banking';

    expect(readText(mixed).text).toBe(`${mixed}?sslmode=verify-full`);
    expect(connectionTo(mixed).ssl).toEqual({ rejectUnauthorized: true });
    expect(readText(`${mixed}?sslmode=disable`).mistakes).toEqual([expect.stringContaining('sslmode=disable, which')]);
    expect(readText(mixed, false).text).toBe(`${mixed}?sslmode=disable`);
  });

  it('uses no TLS for hosts and sockets of this machine', () => {
    const local = 'postgres://app@127.0.0.1:5432,%2Fvar%2Frun%2Fpostgresql:5433/banking';

    expect(connectionTo(local)).toEqual({
      connectionString: 'postgres://app@127.0.0.1:5432/banking',
      otherHosts: ['postgres://app@%2Fvar%2Frun%2Fpostgresql:5433/banking'],
      ssl: false,
    });
  });

  it.each([
    ['postgres://app@a:5432,b:5432/banking?host=c', /several hosts and has the parameter host/],
    ['postgres://app@localhost/banking?host=a,b', /several hosts and has the parameter host/],
    ['postgres://a,,b/banking', /an empty host between commas/],
    ['postgres://app@a:x,b/banking', /is not a URL that begins with/],
    ['postgres://app:hunter2@a,b%zz/banking', /not percent-encoded/],
    ['postgres://app@a,b/banking?target_session_attrs=any', /target_session_attrs other than read-write/],
    ['postgres://app@a/banking?target_session_attrs=standby', /target_session_attrs other than read-write/],
  ])('is a mistake in %s', (url, words) => {
    const { text, mistakes } = readText(url);

    expect({ text, mistakes }).toEqual({ text: undefined, mistakes: [expect.stringMatching(words)] });
    expect(mistakes.join()).not.toContain('hunter2');
  });
});

describe('the URL of a replica', () => {
  const read = (query: string) => {
    const reader = readerOf({ DATABASE_REPLICA_URL: `postgres://app@localhost,127.0.0.1/banking${query}` });
    return { text: readDatabaseUrl(reader, 'DATABASE_REPLICA_URL', true, STANDBY), mistakes: reader.mistakes };
  };

  it.each([
    '',
    '?target_session_attrs=standby',
    '?target_session_attrs=prefer-standby',
    '?target_session_attrs=read-only',
  ])('may name several hosts with the parameters %j', (query) => {
    const { text = '', mistakes } = read(query);

    expect(mistakes).toEqual([]);
    expect(connectionTo(text)).toMatchObject({ connectionString: 'postgres://app@localhost/banking' });
  });

  it.each(['read-write', 'primary', 'any'])('is a mistake with target_session_attrs=%s', (target) => {
    expect(read(`?target_session_attrs=${target}`).mistakes).toEqual([
      'DATABASE_REPLICA_URL has a target_session_attrs other than standby. Only a standby is read as a replica: set standby, or remove it.',
    ]);
  });
});

describe('a URL with files or an unknown mode', () => {
  it.each([
    ['sslmode=verify', /^DATABASE_URL has an unknown sslmode/],
    ['sslmode=constructor', /^DATABASE_URL has an unknown sslmode/],
    ['ssl=yes', /^DATABASE_URL has an unknown sslmode/],
    ['sslrootcert=/nowhere/ca.crt', /names by sslrootcert cannot be read \(ENOENT\)/],
    ['sslkey=/nowhere/app.key', /names by sslkey cannot be read \(ENOENT\)/],
  ])('is a mistake with %s', (query, mistake) => {
    expect(read(`${REMOTE}?${query}`).mistakes).toEqual([expect.stringMatching(mistake)]);
  });

  it('is a mistake if the file is no certificate', () => {
    const file = join(folder, 'text.crt');

    expect(read(`${REMOTE}?sslrootcert=${file}`).mistakes).toEqual([
      expect.stringMatching(/names by sslrootcert is not a certificate in PEM form/),
    ]);
  });

  it('is a mistake, not an exception, if the host is malformed', () => {
    expect(read('postgres://app@db%zz/banking').mistakes).toHaveLength(1);
  });

  it('loses its TLS parameters in the connection string', () => {
    const all = 'sslmode=require&ssl=true&sslnegotiation=direct&uselibpqcompat=true&connect_timeout=5';

    expect(connectionTo(`${LOCAL}?${all}`).connectionString).toBe(`${LOCAL}?connect_timeout=5`);
  });
});
