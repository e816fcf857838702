import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ComposeService, programOf, read, readComposition, reads, ROOT } from './deploy-files.js';

const { services, networks, volumes, secrets } = readComposition();
const all = Object.entries(services);
const ours = all.flatMap(([name, service]) => {
  const program = programOf(service);
  return program === undefined ? [] : ([[name, service, program]] as const);
});

const secretNames = ({ secrets: used = [] }: ComposeService) =>
  used.map((secret) => (typeof secret === 'string' ? secret : secret.source));
const networkNames = ({ networks: used = [] }: ComposeService) => (Array.isArray(used) ? used : Object.keys(used));

describe('the services of deploy/compose.yaml', () => {
  it('are two services, a worker, jobs, a database, a pooler, an identity provider and a proxy', () => {
    expect(Object.keys(services)).toEqual([
      ...['api-1', 'api-2', 'worker', 'migrate', 'demo', 'postgres', 'pgbouncer', 'login', 'proxy'],
    ]);
    expect(ours.map(([name]) => name)).toEqual(['api-1', 'api-2', 'worker', 'migrate', 'demo']);
  });

  it.each(all)('gives %s no more rights than it needs', (_, service) => {
    expect(service).toMatchObject({ cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
    // Keycloak writes into its own folder.
    expect(service.read_only).toBe(!service.image.includes('keycloak'));
  });

  it.each(ours)('runs %s as the user of the image, and gives it time to stop', (_, service) => {
    expect(service).toMatchObject({ user: '10001:10001', stop_grace_period: '25s' });
    expect(service.entrypoint).toBeUndefined();
  });

  it.each(ours)('sets only variables that %s reads', (_, { environment = {} }, program) => {
    expect(Object.keys(environment).filter((name) => !reads(program, name))).toEqual([]);
    expect(Object.values(environment).filter((value) => typeof value !== 'string')).toEqual([]);
  });

  it.each(ours)('gives %s every secret that its variables name, by a file, and no other', (_, service) => {
    const named = Object.values(service.environment ?? {}).flatMap((value) =>
      [...value.matchAll(/\/run\/secrets\/([\w-]+)/g)].map(([, name]) => name),
    );

    expect(new Set(named)).toEqual(new Set(secretNames(service)));
    const withPassword = Object.values(service.environment ?? {}).filter((value) => /:\/\/[^/]*:[^/]*@/.test(value));
    expect(withPassword).toEqual([]);
  });

  it('gives the login that migrates to jobs only', () => {
    const holders = all.filter(([, service]) => secretNames(service).includes('migrator-password'));

    expect(holders.map(([name]) => name)).toEqual(['migrate', 'demo', 'postgres']);
  });

  it.each(all)('names only networks, volumes, secrets, files and services that exist for %s', (_, service) => {
    expect(networkNames(service).filter((name) => networks[name] === undefined)).toEqual([]);
    expect(secretNames(service).filter((name) => secrets[name] === undefined)).toEqual([]);
    expect(Object.keys(service.depends_on ?? {}).filter((name) => services[name] === undefined)).toEqual([]);
    const sources = (service.volumes ?? []).map((volume) => volume.split(':', 1)[0] ?? '');
    const missing = sources.filter((source) =>
      source.startsWith('.') ? !existsSync(join(ROOT, 'deploy', source)) : volumes[source] === undefined,
    );
    expect(missing).toEqual([]);
  });

  it('waits for services that are checked, and for jobs that end', () => {
    const waits = all.flatMap(([, { depends_on = {} }]) => Object.entries(depends_on));

    for (const [name, { condition }] of waits) {
      const isJob = services[name]?.restart === 'no';
      expect([name, condition]).toEqual([name, isJob ? 'service_completed_successfully' : 'service_healthy']);
      expect(isJob || services[name]?.healthcheck !== undefined).toBe(true);
    }
  });

  it('publishes the proxy only, on the loopback address, and lets the worker send webhooks', () => {
    expect(all.filter(([, { ports }]) => ports !== undefined).map(([name]) => name)).toEqual(['proxy']);
    expect(services['proxy']?.ports).toEqual(['127.0.0.1:8443:8443']);
    const outside = all.filter(([, service]) =>
      networkNames(service).some((name) => networks[name]?.internal !== true),
    );
    expect(outside.map(([name]) => name)).toEqual(['worker', 'proxy']);
  });

  it('trusts the address of the proxy, in every service', () => {
    const { networks: joined = {} } = services['proxy'] as ComposeService;
    const { ipv4_address: address } =
      (joined as Readonly<Record<string, { readonly ipv4_address?: string }>>)['front'] ?? {};

    expect(address).toBeDefined();
    for (const name of ['api-1', 'api-2']) expect(services[name]?.environment?.['TRUSTED_PROXIES']).toBe(address);
  });

  it('checks the health of a process at the port on which it listens', () => {
    const ports = ours.map(([name, { environment = {}, healthcheck }]) => [
      name,
      healthcheck && /127\.0\.0\.1:(\d+)\/health\/ready/.exec(healthcheck.test.join(' '))?.[1],
      environment['HEALTH_PORT'] ?? environment['PORT'],
    ]);

    expect(ports).toEqual([
      ['api-1', '3000', '3000'],
      ['api-2', '3000', '3000'],
      ['worker', '3001', '3001'],
      ['migrate', undefined, undefined],
      ['demo', undefined, undefined],
    ]);
  });
});

describe('the files beside deploy/compose.yaml', () => {
  const script = read('deploy/compose/make-secrets.sh');

  it('include a script that makes every secret', () => {
    const made = [
      ...[...script.matchAll(/^for login in (.+); do$/gm)].flatMap(([, names = '']) =>
        names.split(' ').map((name) => `${name}-password`),
      ),
      ...[...script.matchAll(/^certificate ([\w-]+) /gm)].flatMap(([, name]) => [`${name}-key`, `${name}-certificate`]),
      ...['ca-certificate', 'pgbouncer-users', 'realm.json', 'webhook-key'],
    ];
    const files = Object.values(secrets).map(({ file }) => file.replace('./compose/secrets/', ''));

    expect(files.filter((file) => !made.includes(file))).toEqual([]);
  });

  it('name the services, ports and files that the proxy and the pooler use by default', () => {
    const proxy = read('deploy/compose/Caddyfile');
    const addresses = [...proxy.matchAll(/\{\$\w+:([^}]*:[^}]*)\}/g)].flatMap(([, list = '']) => list.split(' '));

    expect(addresses).toEqual(['login:8080', 'api-1:3000', 'api-2:3000']);
    expect(addresses.filter((address) => services[address.split(':', 1)[0] ?? ''] === undefined)).toEqual([]);
    const files = [...(proxy + read('deploy/compose/pgbouncer.ini')).matchAll(/\/run\/secrets\/([\w-]+)/g)];
    expect(files.map(([, name = '']) => name).filter((name) => secrets[name] === undefined)).toEqual([]);
  });

  it('name one realm, audience and proxy', () => {
    const { environment = {} } = services['api-1'] as ComposeService;
    const realm = JSON.parse(read('deploy/compose/realm.json')) as { readonly realm: string };

    expect(environment['OIDC_ISSUER']).toBe(`${environment['PUBLIC_URL']}/realms/${realm.realm}`);
    expect(services['login']?.environment?.['KC_HOSTNAME']).toBe(environment['PUBLIC_URL']);
    expect(read('deploy/compose/realm.json')).toContain('"included.custom.audience": "banking-api"');
    expect(JSON.stringify(services['proxy']?.networks)).toContain(new URL(environment['PUBLIC_URL'] ?? '').hostname);
  });

  it('keep the made secrets out of git', () => {
    expect(readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n')).toContain('deploy/compose/secrets/');
  });
});
