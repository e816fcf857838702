import type { DocumentedResponse } from './document.js';

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
