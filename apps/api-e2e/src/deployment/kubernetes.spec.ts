import { programOf, read, reads } from './deploy-files.js';
import { FOLDER, manifestFiles, manifests, workloads } from './kubernetes-files.js';

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

    expect(selectors).toHaveLength(8);
    for (const [name, labels] of selectors) {
      const carriers = workloads.filter(([, workload]) => isPart(labels, workload.labels)).map(([one]) => one);
      expect([name, carriers]).toEqual([
        name,
        name === 'banking-default' ? expect.arrayContaining(['banking-api', 'banking-worker', ...JOBS]) : [name],
      ]);
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
