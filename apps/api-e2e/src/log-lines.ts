/** A text that specs put into query strings, headers and tokens, and that no log line may contain. */
export const CANARY = 'canary-3f9a1c7e';

/** The secrets that a log may not contain: credentials, accounts, people, query strings and hostile headers. */
const SECRETS: Readonly<Record<string, RegExp>> = {
  'a token': /eyJ[A-Za-z0-9_-]{8,}/,
  'an Authorization header': /\bbearer\s+[A-Za-z0-9._~+/-]{16,}/i,
  'an account code of ours': /\b(?:NW\d{10}|BA\d{14,18})\b/,
  'an account number of a beneficiary': /50100123456789|DE89370400440532013000/,
  'an e-mail address': /[\w.+-]+@[\w-]+\.example\b/i,
  'a name': /Ravi Menon|Northwind Trading Berlin/,
  'a canary of a query string or a header': new RegExp(CANARY),
};

/** The log lines of an unhandled error. No request of a spec may cause one. */
export function bugsIn(log: string): string[] {
  return log.split('\n').filter((line) => /^\{"level":"(error|fatal)"|unhandledRejection|uncaughtException/.test(line));
}

/** The log lines that contain a secret, each with its kind. The output for an operator is no log line. */
export function secretsIn(log: string): string[] {
  return log
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .flatMap((line) =>
      Object.entries(SECRETS).flatMap(([what, pattern]) =>
        pattern.test(line) ? [`${what}: ${line.slice(0, 400)}`] : [],
      ),
    );
}
