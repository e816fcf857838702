import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { bareEnvironment } from '../config.js';

/** The top of the repository. */
export const ROOT = resolve(__dirname, '../../../..');

/** The programs of an image or archive, by the path below its folder. */
export const PROGRAMS = ['apps/api/dist/main.js', 'apps/worker/dist/main.js', 'apps/cli/dist/main.js'] as const;
export type Program = (typeof PROGRAMS)[number];

export type Variables = Readonly<Record<string, string>>;

/** A service of deploy/compose.yaml, with its variables replaced by their defaults. */
export interface ComposeService {
  readonly image: string;
  readonly user?: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Variables;
  readonly secrets?: readonly (string | { readonly source: string })[];
  readonly networks?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly profiles?: readonly string[];
  readonly restart?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly stop_grace_period?: string;
}

export interface Composition {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

export function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

export function readComposition(): Composition {
  const text = read('deploy/compose.yaml').replace(/\$\{\w+:-([^}]*)\}/g, '$1');
  // A dollar of a shell is written twice.
  return parse(text.replaceAll('$$', '$'), { merge: true }) as Composition;
}

/** A service that runs one of our programs. */
export function programOf({ command = [] }: { readonly command?: readonly string[] }): Program | undefined {
  return PROGRAMS.find((program) => command.includes(program));
}

/** The Kubernetes objects of a file. */
export function readManifests(file: string): Readonly<Record<string, unknown>>[] {
  return parseAllDocuments(read(file)).map((document) => {
    const [mistake] = [...document.errors, ...document.warnings];
    if (mistake !== undefined) throw new Error(`${file}: ${mistake.message}`);
    return document.toJS() as Readonly<Record<string, unknown>>;
  });
}

/** The files below deploy/ with one of these endings. */
export function deployFiles(...endings: readonly string[]): string[] {
  const names = readdirSync(join(ROOT, 'deploy'), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => endings.some((ending) => name.endsWith(ending))).map((name) => `deploy/${name}`);
}

/** The settings of a file of lines `NAME=value`, as systemd and kustomize read it. */
export function readSettings(file: string): Variables {
  const lines = read(file).split('\n');
  return Object.fromEntries(
    lines.filter((line) => /^[A-Z]/.test(line)).map((line) => [line.split('=', 1)[0], line.replace(/^[^=]*=/, '')]),
  ) as Variables;
}

/** Variables of Node itself. */
const OF_NODE = ['NODE_EXTRA_CA_CERTS'];

/** Whether a program reads a variable. Its usage names every variable that it reads, which a test of api and worker proves. */
export function reads(program: Program, name: string): boolean {
  return OF_NODE.includes(name) || usageOf(program).includes(name);
}

const usages = new Map<Program, readonly string[]>();

/** The names of the variables in the usage of a built program. */
function usageOf(program: Program): readonly string[] {
  const known = usages.get(program);
  if (known !== undefined) return known;
  const usage = execFileSync(process.execPath, [join(ROOT, program), '--help'], {
    encoding: 'utf8',
    env: bareEnvironment(),
  });
  const names = usage.match(/\b[A-Z][A-Z0-9_]+\b/g) ?? [];
  usages.set(program, names);
  return names;
}

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
