import { deployFiles, readManifests, readSettings } from './deploy-files.js';

export const FOLDER = 'deploy/kubernetes';

interface Variable {
  readonly name: string;
  readonly value: string;
}
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}
interface Container {
  readonly image: string;
  readonly command?: readonly string[];
  readonly args: readonly string[];
  readonly env: readonly Variable[];
  readonly envFrom?: readonly unknown[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
}
interface PodSpec {
  readonly terminationGracePeriodSeconds?: number;
  readonly containers: readonly [Container];
  readonly volumes: readonly { readonly name: string; readonly secret?: { readonly defaultMode: number } }[];
}
interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: {
    readonly selector?: unknown;
    readonly template?: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: PodSpec;
    };
  };
}

/** The files of objects; those of kustomize are none. */
export const manifestFiles = deployFiles('.yaml').filter(
  (file) => file.startsWith(`${FOLDER}/`) && !file.endsWith('kustomization.yaml'),
);
export const manifests = manifestFiles.flatMap((file) => readManifests(file) as unknown as Manifest[]);
const settings = readSettings(`${FOLDER}/settings.env`);

/** What runs, by its name, with the variables of its container. */
export const workloads = manifests.flatMap(({ metadata: { name }, spec }) => {
  if (spec?.template === undefined) return [];
  const [container] = spec.template.spec.containers;
  const environment = {
    ...(container.envFrom === undefined ? {} : settings),
    ...Object.fromEntries(container.env.map((variable) => [variable.name, variable.value])),
  };
  return [[name, { pod: spec.template.spec, labels: spec.template.metadata.labels, container, environment }] as const];
});
