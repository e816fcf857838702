import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Violation } from './check-orders.js';
import type { Cluster } from './cluster.js';
import { CANARY } from './plant-canaries.js';

export interface SecretSearch {
  /** Lines of log files. */
  readonly searched: number;
  readonly violations: readonly Violation[];
}

const SHOWN_MAX = 5;
/** The output of a start in a sandbox, which names a user of the demo data. */
const TOKEN_HINT = 'A token: npm run ';

/**
 * Searches the logs of all processes, and of PostgreSQL, for what a log must not hold: tokens, keys and descriptions of the run, account
 * codes and numbers, names, e-mails, and the texts that the canary requests contained.
 */
export async function searchSecrets({ folder, token }: Cluster, prefix: string): Promise<SecretSearch> {
  const secret = patternOf([token.split('.')[2] ?? token], prefix);
  const violations: Violation[] = [];
  let searched = 0;
  for (const file of await logFiles(folder)) {
    const lines = createInterface({ input: createReadStream(file), crlfDelay: Infinity });
    for await (const line of lines) {
      searched += 1;
      const [match] = line.startsWith(TOKEN_HINT) ? [] : (secret.exec(line) ?? []);
      if (match === undefined || violations.length >= SHOWN_MAX) continue;
      violations.push({
        check: 'secrets',
        detail: `${file} contains "${match.slice(0, 30)}" in: ${line.slice(0, 300)}`,
      });
    }
  }
  return { searched, violations };
}

/** The forms of what is secret, and the texts themselves. */
export function patternOf(texts: readonly string[], prefix: string): RegExp {
  const forms = [
    // A JWT, an account code, an e-mail address, an IBAN.
    ...['eyJ[A-Za-z0-9_-]{10,}', 'BA[0-9]{16}', '[a-z.]+@northwind[.]example', 'DE[0-9]{20}'],
    'Northwind Trading Berlin',
    CANARY,
    // Keys, which are also the descriptions.
    `\\b${prefix}-[0-9]+`,
  ];
  return new RegExp([...forms, ...texts.map((text) => text.replace(/[^A-Za-z0-9]/g, '\\$&'))].join('|'));
}

async function logFiles(folder: string): Promise<string[]> {
  const data = join(folder, 'data');
  const of = async (parent: string) =>
    (await readdir(parent)).filter((name) => /[.]log([.]1)?$/.test(name)).map((name) => join(parent, name));
  return [...(await of(folder)), ...(await of(data))];
}
