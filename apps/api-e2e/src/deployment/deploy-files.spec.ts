import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { join } from 'node:path';
import { parse } from 'yaml';
import {
  type ComposeService,
  deployFiles,
  FOLDER,
  manifestFiles,
  manifests,
  programOf,
  PROGRAMS,
  read,
  readComposition,
  reads,
  readSettings,
  ROOT,
  type Variables,
  workloads,
} from './deploy-files.js';
import { isCi } from '../config.js';

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

  it('gives each service the login of its part only', () => {
    const logins = ours.map(([name, { environment = {} }]) => [
      name,
      new URL(environment['DATABASE_URL'] ?? '').username,
      environment['DATABASE_PASSWORD_FILE'],
    ]);

    expect(logins).toEqual([
      ['api-1', 'banking', '/run/secrets/banking-password'],
      ['api-2', 'banking', '/run/secrets/banking-password'],
      ['worker', 'worker', '/run/secrets/worker-password'],
      ['migrate', 'migrator', '/run/secrets/migrator-password'],
      ['demo', 'operator', '/run/secrets/operator-password'],
    ]);
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

interface Egress {
  readonly to: readonly { readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] } }[];
  readonly ports: readonly { readonly port: number }[];
}

function networksIn(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) list.addSubnet(network.split('/', 1)[0]!, Number(network.split('/')[1]));
  return list;
}

const JOBS = ['banking-migrate', 'banking-command'];

describe('the objects of deploy/kubernetes', () => {
  it('are services and workers, two jobs, and what surrounds them', () => {
    expect(manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()).toEqual([
      'Deployment banking-api',
      'Deployment banking-worker',
      'Job banking-command',
      'Job banking-migrate',
      'Namespace banking',
      'NetworkPolicy banking-api',
      'NetworkPolicy banking-default',
      'NetworkPolicy banking-deny',
      'NetworkPolicy banking-worker',
      'PodDisruptionBudget banking-api',
      'PodDisruptionBudget banking-worker',
      'Service banking-api',
      'ServiceAccount banking',
    ]);
  });

  it('are all listed in a kustomization', () => {
    const listed = ['', '/migrate', '/command'].flatMap((folder) =>
      [...read(`${FOLDER}${folder}/kustomization.yaml`).matchAll(/^ {2}- ([\w-]+\.yaml)$/gm)].map(
        ([, name]) => `${FOLDER}${folder}/${name}`,
      ),
    );

    expect(listed.sort()).toEqual([...manifestFiles].sort());
  });

  it.each(workloads)('set only variables that %s reads', (_, { container, environment }) => {
    const program = programOf({ command: container.args });

    expect(program).toBeDefined();
    expect(Object.keys(environment).filter((name) => !reads(program!, name))).toEqual([]);
    expect(Object.values(environment).filter((value) => typeof value !== 'string')).toEqual([]);
  });

  it.each(workloads)(
    'mount every secret that %s names by a file, for its user only',
    (_, { container, pod, environment }) => {
      const named = Object.values(environment).flatMap((value) =>
        [...value.matchAll(/\/run\/secrets\/[\w-]+/g)].map(([folder]) => folder),
      );
      const mounted = container.volumeMounts.filter(({ mountPath }) => mountPath.startsWith('/run/secrets/'));

      expect(new Set(named)).toEqual(new Set(mounted.map(({ mountPath }) => mountPath)));
      expect(mounted.every(({ readOnly }) => readOnly)).toBe(true);
      const modes = pod.volumes.flatMap(({ secret }) => (secret === undefined ? [] : [secret.defaultMode]));
      expect(modes).toEqual(mounted.map(() => 0o440));
      expect(Object.values(environment).filter((value) => /:\/\/[^/]*:[^/]*@/.test(value))).toEqual([]);
    },
  );

  it.each(workloads)('run %s without rights, on a file system that it cannot write', (_, { container, pod }) => {
    expect(pod).toMatchObject({
      serviceAccountName: 'banking',
      automountServiceAccountToken: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 10_001,
        fsGroup: 10_001,
        seccompProfile: { type: 'RuntimeDefault' },
      },
    });
    expect(container).toMatchObject({
      image: 'banking',
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
      resources: { requests: { memory: expect.any(String) as unknown }, limits: { memory: '512Mi' } },
    });
    expect(container.command).toBeUndefined();
  });

  const served = workloads.filter(([name]) => !JOBS.includes(name));

  it.each(served)(
    'probe %s at the ports and paths that it serves, and let it stop',
    (_, { container, pod, environment }) => {
      const port = Number(environment['HEALTH_PORT'] ?? environment['PORT']);
      const named = container.ports?.filter(({ containerPort }) => containerPort === port);

      expect(named).toHaveLength(1);
      expect(container.livenessProbe?.httpGet).toEqual({ path: '/health/live', port: named?.[0]?.name });
      expect(container.readinessProbe?.httpGet).toEqual({ path: '/health/ready', port: named?.[0]?.name });
      expect(container.startupProbe?.httpGet.port).toBe(named?.[0]?.name);
      expect(container.ports?.map(({ containerPort }) => containerPort)).toContain(Number(environment['METRICS_PORT']));
      // The service ends 18 seconds after a signal, and the worker 15 seconds.
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(18);
      expect([environment['HEALTH_HOST'] ?? environment['HOST'], environment['METRICS_HOST']]).toEqual([
        '0.0.0.0',
        '0.0.0.0',
      ]);
    },
  );

  it('select pods by labels that they carry', () => {
    const selectors = manifests.flatMap(({ metadata, spec }) => {
      const { selector, podSelector } = (spec ?? {}) as Record<string, { matchLabels?: object } | undefined>;
      const chosen = selector ?? podSelector;
      return chosen === undefined ? [] : [[metadata.name, chosen.matchLabels ?? chosen] as const];
    });

    expect(selectors).toHaveLength(9);
    for (const [name, labels] of selectors) {
      const carriers = workloads.filter(([, workload]) => isPart(labels, workload.labels)).map(([one]) => one);
      expect([name, carriers]).toEqual([
        name,
        ['banking-default', 'banking-deny'].includes(name)
          ? expect.arrayContaining(['banking-api', 'banking-worker', ...JOBS])
          : [name],
      ]);
    }
  });

  it('trust the proxies in front of the service', () => {
    const { environment } = Object.fromEntries(workloads)['banking-api']!;
    expect(environment['TRUSTED_PROXIES']).toMatch(/^\d+(\.\d+){3}\/\d+$/);
  });

  it('run images by their digest', () => {
    for (const folder of ['', '/migrate', '/command']) {
      const { images } = parse(read(`${FOLDER}${folder}/kustomization.yaml`)) as { readonly images: object[] };

      expect(images).toEqual([
        {
          name: 'banking',
          newName: expect.any(String) as string,
          digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string,
        },
      ]);
    }
  });

  it('deny what no policy allows, and allow no private network besides the database', () => {
    const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
    const denying = policies.filter(
      ({ spec }) => JSON.stringify(spec) === '{"podSelector":{},"policyTypes":["Ingress","Egress"]}',
    );
    expect(denying).toHaveLength(1);
    const blocks = policies.flatMap(({ spec }) => {
      const { egress = [] } = spec as { readonly egress?: readonly Egress[] };
      return egress.flatMap(({ to, ports }) => to.flatMap(({ ipBlock }) => (ipBlock ? [{ ...ipBlock, ports }] : [])));
    });
    expect(blocks).toHaveLength(3);
    for (const { cidr, except = [], ports } of blocks) {
      const reached = [cidr, ...except].map((block) => networksIn([block]));
      const isReached = (address: string) =>
        reached[0]!.check(address) && !reached.slice(1).some((one) => one.check(address));
      const isDatabase = ports.every(({ port }) => port !== 443);
      if (isDatabase) expect(cidr).toMatch(/\/32$/);
      else
        expect(
          ['10.9.9.9', '172.20.0.1', '192.168.1.1', '169.254.169.254', '100.64.1.1', '127.0.0.1'].filter(isReached),
        ).toEqual([]);
      if (!isDatabase) expect(isReached('1.1.1.1')).toBe(true);
    }
  });

  it('allow traffic to the ports of the programs only', () => {
    const policies = read(`${FOLDER}/network-policies.yaml`);
    const ports = [...policies.matchAll(/- port: (\d+)/g)].map(([, port]) => Number(port));

    expect([...new Set(ports)].sort((a, b) => a - b)).toEqual([53, 443, 3000, 4318, 5432, 6432, 9464]);
  });
});

function isPart(part: object, whole: Readonly<Record<string, string>>): boolean {
  return Object.entries(part).every(([name, value]) => whole[name] === value);
}

const units = deployFiles('.service');

const settingsOf = (file: string) => readSettings(file.replace('/etc/banking/', 'deploy/systemd/'));

/** The values of a directive. */
const valuesOf = (unit: string, directive: string) =>
  [...read(unit).matchAll(new RegExp(`^${directive}=(.+)$`, 'gm'))].map(([, value = '']) => value);

describe('the units of deploy/systemd', () => {
  it('are a service, a worker and the migrations', () => {
    expect([...units].sort()).toEqual(
      ['api', 'migrate', 'worker'].map((name) => `deploy/systemd/banking-${name}.service`),
    );
  });

  it.each(units)('start a program of the archive, with variables that it reads (%s)', (unit) => {
    const [start = ''] = valuesOf(unit, 'ExecStart');
    const program = PROGRAMS.find((one) => start.startsWith(`/usr/bin/node ${one}`));
    // A file with a minus may be missing.
    const files = valuesOf(unit, 'EnvironmentFile').filter((file) => !file.startsWith('-'));
    const settings = Object.assign({}, ...files.map(settingsOf)) as Variables;
    const named = valuesOf(unit, 'Environment').map((value) => value.split('=', 1)[0] ?? '');

    expect(program).toBeDefined();
    // One file serves service and worker.
    const readers = files.some((file) => file.endsWith('service.env')) ? PROGRAMS.slice(0, 2) : [program!];
    const unread = Object.keys(settings).filter((name) => !readers.some((one) => reads(one, name)));
    expect(unread).toEqual([]);
    expect(named.filter((name) => !reads(program!, name))).toEqual([]);
  });

  it('trust a proxy of the machine', () => {
    expect(readSettings('deploy/systemd/service.env')).toMatchObject({
      HOST: '127.0.0.1',
      TRUSTED_PROXIES: '127.0.0.1,::1',
    });
  });

  it.each(units)('hand over each secret by a credential (%s)', (unit) => {
    const credentials = valuesOf(unit, 'LoadCredential').map((value) => value.split(':', 1)[0]);
    const files = valuesOf(unit, 'Environment').map((value) => /^[A-Z_]+_FILE=%d\/(.+)$/.exec(value)?.[1]);

    expect(files).toEqual(credentials);
    expect(credentials.length).toBeGreaterThan(0);
  });

  it.each(deployFiles('.env'))('have settings without a password (%s)', (file) => {
    expect(read(file)).not.toMatch(/:\/\/[^/\s]*:[^/\s]*@/);
  });

  it.each(units.filter((unit) => !unit.includes('migrate')))('let the process stop (%s)', (unit) => {
    expect(Number(valuesOf(unit, 'TimeoutStopSec')[0])).toBeGreaterThan(18);
    expect(valuesOf(unit, 'RestartPreventExitStatus')).toEqual(['2']);
  });

  const analyze = (...args: string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8', cwd: ROOT });
  const isThere = analyze('--version').status === 0;
  // A machine without systemd skips these, visibly. CI must run them.
  const itWithSystemd = isThere || isCi() ? it : it.skip;

  itWithSystemd.each(units)('are accepted by systemd-analyze verify (%s)', (unit) => {
    const { status, stderr, error } = analyze('verify', '--man=no', join(ROOT, unit));

    // The archive is not installed here, and Node may be in another folder.
    const complaints = stderr
      .split('\n')
      .filter((line) => line !== '' && !/\/usr\/bin\/node is not executable/.test(line));
    expect({ complaints, error }).toEqual({ complaints: [], error: undefined });
    expect(status === 0 || stderr.includes('not executable')).toBe(true);
  });

  itWithSystemd.each(units)('have an exposure of at most 1.5 of 10 (%s)', (unit) => {
    const { status, stdout, stderr } = analyze('security', '--offline=true', '--threshold=15', unit);

    expect({ status, summary: stdout.split('\n').at(-2), stderr }).toEqual({
      status: 0,
      summary: expect.stringMatching(/^→ Overall exposure level for .+: 1\.\d OK/) as unknown,
      stderr: '',
    });
  });
});
