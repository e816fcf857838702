import { SignatureError } from './signature-error.js';

// The part of structured fields (RFC 8941) that signatures need. Input must be in canonical form: no optional spaces, no
// leading zeros, no alternative base64 of the same bytes.

/** Whether a value is a non-empty string of a parameter (section 3.3.3). */
export function isString(text: unknown): text is string {
  return typeof text === 'string' && /^[\x20-\x7e]+$/.test(text);
}

/** A string in quotes (section 4.1.6). */
export function serializeString(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** A short byte sequence between colons (section 4.1.8). */
export function serializeBytes(bytes: ArrayBuffer): string {
  return `:${btoa(String.fromCharCode(...new Uint8Array(bytes)))}:`;
}

const LABEL = /[a-z*][a-z0-9_.*-]*/.source;
const COMPONENT = /"@?[a-z0-9!#$%&'*+.^_`|~-]+"/.source;
const STRING = /"(?:[ !#-[\]-~]|\\["\\])+"/.source;
const PARAMETER = `;(?:created=(?:0|[1-9][0-9]{0,14})|(?:keyid|alg|nonce)=${STRING})`;

const SIGNATURE_INPUT = new RegExp(`^(${LABEL})=(\\((${COMPONENT}(?: ${COMPONENT})*)\\)((?:${PARAMETER})*))$`);
const SIGNATURE = new RegExp(`^(${LABEL})=:([A-Za-z0-9+/]{86}==):$`);

/** One member of `Signature-Input` (RFC 9421, section 4.1). */
export interface SignatureInput {
  readonly label: string;
  readonly components: readonly string[];
  /** Components and parameters as they were sent: the last line of the signature base. */
  readonly parameters: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly keyId: string;
  readonly nonce: string;
}

/** @throws SignatureError unless the text is one signature with its four parameters */
export function parseSignatureInput(text: string): SignatureInput {
  const [, label = '', parameters = '', list = '', rest = ''] = SIGNATURE_INPUT.exec(text) ?? [];
  if (label === '') {
    throw new SignatureError(
      'The Signature-Input must be one signature over plain components with exactly created, keyid, alg and nonce.',
    );
  }
  const components = list.split(' ').map((component) => component.slice(1, -1));
  if (new Set(components).size < components.length) throw new SignatureError('The signature covers a component twice.');

  const written = Array.from(rest.matchAll(new RegExp(PARAMETER, 'g')), ([parameter]) => {
    const equals = parameter.indexOf('=');
    return [parameter.slice(1, equals), parameter.slice(equals + 1)] as const;
  });
  const values = new Map(written);
  if (values.size < written.length) throw new SignatureError('The signature has a parameter twice.');
  const parameter = (name: string): string => {
    const value = values.get(name);
    if (value === undefined) throw new SignatureError(`The signature has no parameter "${name}".`);
    return value;
  };
  const [created, keyId, nonce] = [parameter('created'), parameter('keyid'), parameter('nonce')];
  if (parameter('alg') !== '"ed25519"') throw new SignatureError('The algorithm of the signature is not "ed25519".');
  return { label, components, parameters, created: Number(created), keyId: unquoted(keyId), nonce: unquoted(nonce) };
}

/** The 64 bytes with the label. @throws SignatureError for any other text */
export function parseSignature(text: string, label: string): Uint8Array<ArrayBuffer> {
  const [, actual, base64 = ''] = SIGNATURE.exec(text) ?? [];
  if (actual !== label) {
    throw new SignatureError('The Signature must have the label of the Signature-Input and 64 bytes of base64.');
  }
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  if (serializeBytes(bytes.buffer) !== `:${base64}:`) {
    throw new SignatureError('The base64 of the Signature is not canonical.');
  }
  return bytes;
}

function unquoted(text: string): string {
  return text.slice(1, -1).replaceAll(/\\(["\\])/g, '$1');
}
