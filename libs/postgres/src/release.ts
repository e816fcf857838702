/** A release of the service, such as `1.2.0`. A suffix such as `-beta.1` does not count. */
export type Release = string;

const RELEASE = /^(\d+)\.(\d+)\.(\d+)(?:[-+].*)?$/;
const NAME = 'banking';
const OF_CELLS = ' cells';
const PROCESS = new RegExp(`^${NAME}(?: (\\S+?))?(${OF_CELLS})?$`);

/** Whether a release is at least another. False for a text that names no release, so that an unknown program counts as older. */
export function isAtLeast(release: Release | undefined, least: Release): boolean {
  const [numbers, others] = [numbersOf(release), numbersOf(least)];
  if (numbers === undefined || others === undefined) return false;
  const at = numbers.findIndex((number, index) => number !== others[index]);
  return at === -1 || numbers[at]! > others[at]!;
}

/**
 * The name of the connections of a process in pg_stat_activity. A contract migration reads it to find older processes.
 *
 * @param knowsCells whether the process knows that the deployment has several databases
 */
export const applicationNameOf = (release: Release, knowsCells = false): string =>
  `${NAME} ${release}${knowsCells ? OF_CELLS : ''}`;

/** Whether the connections are those of a process that knows several databases. */
export const knowsCells = (applicationName: string): boolean => PROCESS.exec(applicationName)?.[2] !== undefined;

/**
 * The release of the process of a connection: undefined for other programs, and for our short connections of a migration. An empty
 * text is a process that names no release, which counts as older.
 */
export function releaseOfProcess(applicationName: string): Release | undefined {
  const match = PROCESS.exec(applicationName);
  return match === null ? undefined : (match[1] ?? '');
}

function numbersOf(release: string | undefined): readonly number[] | undefined {
  return RELEASE.exec(release ?? '')
    ?.slice(1)
    .map(Number);
}
