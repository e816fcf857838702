import { BlockList } from 'node:net';
import { parse } from 'yaml';
import { programOf, read, reads } from './deploy-files.js';
import { FOLDER, manifestFiles, manifests, workloads } from './kubernetes-files.js';

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
