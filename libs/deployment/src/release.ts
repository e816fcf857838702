import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const { version } = JSON.parse(readFileSync(join(__dirname, '..', 'package.json'), 'utf8')) as {
  readonly version: string;
};

/** The release of this program. `nx release` gives all packages of the service the same version. */
export const RELEASE = version;
