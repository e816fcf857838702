import type { SignableRequest } from './sending.js';
import { SignatureError } from './signature-error.js';
import { serializeBytes, serializeString } from './structured-fields.js';

/** What a component of a request says; undefined for one that it does not have. */
export type ComponentReader = (component: string) => string | undefined;

/** Whose money, and which intent: covered wherever they are sent. */
const FIELDS = ['content-digest', 'workspace-id', 'idempotency-key'];

/**
 * Reads the components of a request (RFC 9421, section 2), with more headers beside its own.
 *
 * @throws SignatureError, from the reader, for a header that is there with two values, or with characters that a
 *   signature base cannot hold.
 */
export function componentReader(
  { method, url, headers }: SignableRequest,
  more: Readonly<Record<string, string>>,
): ComponentReader {
  const fields = [headers, more].flatMap((record) => Object.entries(record));
  return (component) => {
    switch (component) {
      case '@method':
        return printable(component, method);
      case '@authority':
        return url.host;
      case '@path':
        return url.pathname;
      case '@query':
        // Of a request without one as well (section 2.2.7).
        return url.search || '?';
      default: {
        const values = new Set(fields.filter(([name]) => name.toLowerCase() === component).map(([, value]) => value));
        if (values.size > 1) throw new SignatureError(`The request has two values for ${component}: send one.`);
        const [value] = values;
        return value === undefined ? undefined : printable(component, value).trim();
      }
    }
  };
}

/** What a signature of this request must cover: everything whose change would make it another payment. */
export function requiredComponents({ url }: SignableRequest, read: ComponentReader): readonly string[] {
  // An empty query, which `search` does not show, is a query.
  const query = /^[^#]*\?/.test(url.href) ? ['@query'] : [];
  return ['@method', '@path', ...query, ...FIELDS.filter((field) => read(field) !== undefined)];
}

/**
 * What is signed (RFC 9421, section 2.5): a line a component, and last the parameters as they are sent.
 *
 * @throws SignatureError for a component that the request does not have, or that is of a kind not read here.
 */
export function signatureBase(components: readonly string[], parameters: string, read: ComponentReader): string {
  const lines = components.map((component) => {
    const value = read(component);
    if (value !== undefined) return `${serializeString(component)}: ${value}`;
    throw new SignatureError(`The signature covers ${component}, which the request does not have.`);
  });
  return [...lines, `"@signature-params": ${parameters}`].join('\n');
}

/** The value of `Content-Digest` (RFC 9530) with SHA-256 alone. */
export async function contentDigest(body: Uint8Array): Promise<string> {
  return `sha-256=${serializeBytes(await crypto.subtle.digest('SHA-256', new Uint8Array(body)))}`;
}

/** A line break in a value would begin a line of its own, and with it another component. */
function printable(component: string, value: unknown): string {
  if (typeof value === 'string' && /^[\t\x20-\x7e]*$/.test(value)) return value;
  throw new SignatureError(`The request has a ${component} with characters outside printable ASCII.`);
}
