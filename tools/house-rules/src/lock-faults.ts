/** An entry of `packages` in `package-lock.json`, as far as the rules look at it. */
interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

const INSTALLED = 'node_modules/';
const WORKSPACE = /^(?:apps|libs|tools)\/[\w-]+$/;
const SHA512 = /^sha512-[A-Za-z0-9+/]{86}==$/;
const VERSION = /^\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?$/;
/** A dependency that does not come from the registry: a repository, an address, a path. */
const ELSEWHERE = /^(?:git|github|gitlab|bitbucket|gist|https?|file|link|ssh)[+:]|^[\w.-]+\/[\w.-]+(?:#|$)/;

/**
 * What is wrong with a lock: a package whose content is not pinned by SHA-512, that comes from anywhere but the registry npm is
 * configured for, or that asks for a package from elsewhere. `.npmrc` leaves the addresses of the registry out of the lock.
 */
export function lockFaults({ packages }: Lock): readonly string[] {
  return Object.entries(packages).flatMap(([path, entry]) => [
    ...(entry.link || !path.includes(INSTALLED) ? [] : pinFaults(path, entry)),
    ...sourceFaults(path, entry),
  ]);
}

function pinFaults(path: string, { version = '', integrity = '' }: LockedPackage): readonly string[] {
  return [
    ...(VERSION.test(version) ? [] : [`${path} has no exact version`]),
    ...(SHA512.test(integrity) ? [] : [`${path} has no SHA-512`]),
  ];
}

function sourceFaults(path: string, entry: LockedPackage): readonly string[] {
  const { link = false, resolved, dependencies, devDependencies, optionalDependencies, peerDependencies } = entry;
  const asked = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies, ...peerDependencies });
  const isKnown = resolved === undefined || (link && WORKSPACE.test(resolved));
  return [
    ...(isKnown ? [] : [`${path} names its source`]),
    ...asked.filter(([, range]) => ELSEWHERE.test(range)).map(([name]) => `${path} asks for ${name} from elsewhere`),
  ];
}

/** The names of packages that would run a program when they are installed. */
export function installScripts({ packages }: Lock): readonly string[] {
  const paths = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript);
  return [...new Set(paths.map(([path]) => path.slice(path.lastIndexOf(INSTALLED) + INSTALLED.length)))].sort();
}
