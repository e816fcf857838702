import type { SignableRequest } from './transport.js';
import { SignatureError } from './signature-error.js';
import { serializeBytes, serializeString } from './structured-fields.js';

/** Reads the value of a component of a request; undefined for a missing one. */
export type ComponentReader = (component: string) => string | undefined;

/** The headers that a signature covers if the request has them. */
const FIELDS = ['content-digest', 'workspace-id', 'idempotency-key'];

/**
 * Reads the components of a request (RFC 9421, section 2), with additional headers.
 *
 * @throws SignatureError, from the reader, for a header with two values, or with characters that a signature base
 *   cannot contain.
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
        // A request without a query has the value `?` (section 2.2.7).
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

/** The components that a signature must cover: each one whose change would make another payment. */
export function requiredComponents({ url }: SignableRequest, read: ComponentReader): readonly string[] {
  // `search` hides an empty query, which is a component too.
  const query = /^[^#]*\?/.test(url.href) ? ['@query'] : [];
  return ['@method', '@path', ...query, ...FIELDS.filter((field) => read(field) !== undefined)];
}

/**
 * The text that is signed (RFC 9421, section 2.5): one line for each component, then the parameters as they are sent.
 *
 * @throws SignatureError for a component that the request does not have, or of an unsupported kind.
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

/** Refuses line breaks, which would start another component. @throws SignatureError */
function printable(component: string, value: unknown): string {
  if (typeof value === 'string' && /^[\t\x20-\x7e]*$/.test(value)) return value;
  throw new SignatureError(`The request has a ${component} with characters outside printable ASCII.`);
}
