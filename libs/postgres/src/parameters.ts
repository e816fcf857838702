/** A parameter as it is sent: text, bytes, or null. */
export type WireValue = string | Buffer | null;

/**
 * Writes a value the way PostgreSQL reads it.
 *
 * Runs before anything is sent, so that an invalid value does not leave half a message on the connection.
 *
 * @throws Error for a function, a symbol or an invalid Date. @throws TypeError for a value that JSON cannot express, bigint included.
 */
export function encodeParameter(value: unknown): WireValue {
  if (value === null || value === undefined) return null;
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'object':
      return encodeObject(value);
    default:
      throw new Error(`a ${typeof value} cannot be a parameter`);
  }
}

function encodeObject(value: object): WireValue {
  if (value instanceof Date) return encodeDate(value);
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (Array.isArray(value)) return `{${value.map(encodeElement).join(',')}}`;
  return JSON.stringify(value);
}

/** Throws a RangeError for an invalid Date. */
function encodeDate(value: Date): string {
  return value.toISOString();
}

function encodeElement(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `{${value.map(encodeElement).join(',')}}`;
  const text = encodeParameter(value);
  if (text === null) return 'NULL';
  if (typeof text !== 'string') return `"\\\\x${text.toString('hex')}"`;
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
