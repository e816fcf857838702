import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { DocumentedResponse } from './document.js';
import { bareEnvironment } from '../config.js';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,9}Z$/;
const DAY = /^\d{4}-\d\d-\d\d$/;
const HASH = /^[0-9a-f]{64}$/;
/** Account codes are random, except for those of the demo data. */
const NEW_CODE = /^BA\d{16}$/;
/** A secret is shown once, and not in a replay. */
const SHOWN_ONCE = ['secret'];
/** A worker may have attempted a delivery meanwhile. */
const ATTEMPTED = ['status', 'attempts', 'nextAttemptAt', 'lastAttempt'];
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const isInvitationCode = (name: string, value: unknown) =>
  name === 'code' && typeof value === 'string' && value.startsWith('inv_');

/**
 * A response without the parts that differ between two databases with demo data: times, the age of due work, the hashes, which cover the
 * day, the codes of new accounts, references of payments, new keys, the ids of tracking events, which a worker adds too, and the request id. Each is replaced by its
 * format, and is not replaced if it does not have that format. The attempts of a delivery, secrets and codes of invitations are left out.
 */
export function masked(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => masked(item));
  if (typeof value === 'object' && value !== null) {
    const leftOut = 'eventType' in value ? ATTEMPTED : SHOWN_ONCE;
    const shown = Object.entries(value).filter(
      ([name, inner]) => !leftOut.includes(name) && !isInvitationCode(name, inner),
    );
    const isTrackingEvent = 'reasonCode' in value && 'lastUpdatedAt' in value;
    return Object.fromEntries(
      shown.map(([name, inner]) => [name, masked(inner, isTrackingEvent && name === 'id' ? 'trackingEventId' : name)]),
    );
  }
  if (key === 'trackingEventId' && Number.isInteger(value)) return 'an id';
  if (typeof value !== 'string') return value;
  if (/^[a-zA-Z]+At$/.test(key) && TIME.test(value)) return 'a time';
  if (key === 'valueDate' && DAY.test(value)) return 'a day';
  if (/^(hash|(recipientD|d)igest)$/.test(key) && HASH.test(value)) return 'a hash';
  if (key === 'code' && NEW_CODE.test(value)) return 'a new account code';
  if (/^requestI[dD]$/.test(key) && UUID.test(value)) return 'a request id';
  if (key === 'uetr' && UUID.test(value)) return 'a reference';
  return value;
}

/** Headers of the transport and of browser security, which no caller reads. */
const UNSAID =
  /^(date|connection|keep-alive|content-(type|length|security-policy)|transfer-encoding|vary|cross-origin-.*|origin-agent-cluster|referrer-policy|strict-transport-security|x-(content-type-options|dns-prefetch-control|download-options|frame-options|permitted-cross-domain-policies|xss-protection))$/;

/** Sent if the deployment has a limit, as documented. */
const LIMITS = ['ratelimit', 'ratelimit-policy'];

/** Sent in some responses only. */
const SOMETIMES = ['idempotent-replayed', 'content-disposition', 'link'];

/** The differences between the headers of a response and their documentation. */
export function faultsInHeaders(sent: Iterable<string>, documented: DocumentedResponse, isLimited = false): string[] {
  const names = new Set([...sent].map((name) => name.toLowerCase()).filter((name) => !UNSAID.test(name)));
  const documentedNames = new Set(Object.keys(documented.headers).map((name) => name.toLowerCase()));
  return [
    ...[...names].filter((name) => !documentedNames.has(name)).map((name) => `${name} is sent, and not documented`),
    ...[...documentedNames]
      .filter((name) => !names.has(name) && (isLimited || !LIMITS.includes(name)) && !SOMETIMES.includes(name))
      .map((name) => `${name} is documented, and not sent`),
  ];
}

/** Whether this machine has a shell and curl. */
export const hasCurl = (bareEnvironment()['PATH'] ?? '')
  .split(delimiter)
  .some((folder) => isProgram(join(folder, 'curl')));

/** Runs copied commands in a shell, and returns their standard output. @throws Error with their standard error */
export async function inShell(commands: string, variables: Readonly<Record<string, string>>): Promise<string> {
  const env = { ...bareEnvironment(), ...variables };
  const { stdout } = await promisify(execFile)('sh', ['-euc', commands], { env, timeout: 60_000 });
  return stdout;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The blocks of a language in a Markdown text, in their order. */
export function blocksOf(language: string, markdown: string): string[] {
  const block = new RegExp(`^( *)\`\`\`${language}\\n([^]*?)^\\1\`\`\`$`, 'gm');
  return [...markdown.matchAll(block)].map(([, indent = '', code = '']) =>
    code.replace(new RegExp(`^${indent}`, 'gm'), ''),
  );
}
