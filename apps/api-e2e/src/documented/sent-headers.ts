import type { DocumentedResponse } from './document.js';

/** What carries the message, and what only tells a browser how careful to be: nothing a caller reads. */
const UNSAID =
  /^(date|connection|keep-alive|content-(type|length|security-policy)|transfer-encoding|vary|cross-origin-.*|origin-agent-cluster|referrer-policy|strict-transport-security|x-(content-type-options|dns-prefetch-control|download-options|frame-options|permitted-cross-domain-policies|xss-protection))$/;

/** Sent where the deployment sets a limit, as the document says of them. */
const LIMITS = ['ratelimit', 'ratelimit-policy'];

/** Sent where it has something to say. */
const SOMETIMES = ['idempotent-replayed', 'content-disposition', 'link'];

/** Where the headers of an answer and its documentation disagree. */
export function faultsInHeaders(sent: Iterable<string>, documented: DocumentedResponse, isLimited = false): string[] {
  const names = new Set([...sent].map((name) => name.toLowerCase()).filter((name) => !UNSAID.test(name)));
  const told = new Set(Object.keys(documented.headers).map((name) => name.toLowerCase()));
  return [
    ...[...names].filter((name) => !told.has(name)).map((name) => `${name} is sent, and not documented`),
    ...[...told]
      .filter((name) => !names.has(name) && (isLimited || !LIMITS.includes(name)) && !SOMETIMES.includes(name))
      .map((name) => `${name} is documented, and not sent`),
  ];
}
