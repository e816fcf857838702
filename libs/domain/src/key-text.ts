import { ID_MAX, parseId, type ServiceAccountKeyId } from './ids.js';

/**
 * The text of a key of a service account, for scanners of secrets: a fixed prefix, the id of the key, 256 random bits in 43 digits of base 62,
 * and the CRC-32 of all of it before in 6 digits.
 */
export const KEY_PATTERN = /^bank_key_[1-9][0-9]{0,15}_[0-9A-Za-z]{49}$/;

const PREFIX = 'bank_key_';
const RANDOM_BYTES = 32;
const RANDOM_DIGITS = 43;
const CHECK_DIGITS = 6;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** A whole number of bytes, the most significant first, in so many digits. */
function inBase62(bytes: Iterable<number>, length: number): string {
  const left = [...bytes];
  let text = '';
  while (text.length < length) {
    let remainder = 0;
    for (let index = 0; index < left.length; index += 1) {
      const value = remainder * 256 + left[index]!;
      left[index] = Math.floor(value / 62);
      remainder = value % 62;
    }
    text = DIGITS[remainder]! + text;
  }
  return text;
}

/** As in ISO 3309 and zlib. */
const CRC_TABLE = Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc >>> 0;
});

function crc32(text: string): number {
  let crc = 0xffffffff;
  for (let index = 0; index < text.length; index += 1) {
    crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ text.charCodeAt(index)) & 0xff]!;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/** The text of a key. @param random 32 bytes of a cryptographic source @throws RangeError for another length, or no id */
export function keyText(id: number, random: Uint8Array): string {
  if (random.length !== RANDOM_BYTES) throw new RangeError(`a key has ${RANDOM_BYTES} random bytes`);
  if (!Number.isSafeInteger(id) || id < 1 || id > ID_MAX) throw new RangeError('a key has an id');
  const text = `${PREFIX}${id}_${inBase62(random, RANDOM_DIGITS)}`;
  return `${text}${checkOf(text)}`;
}

function checkOf(text: string): string {
  const crc = crc32(text);
  return inBase62([crc >>> 24, (crc >>> 16) & 0xff, (crc >>> 8) & 0xff, crc & 0xff], CHECK_DIGITS);
}

/** Whether a credential claims to be a key. */
export const isKeyText = (text: string): boolean => text.startsWith(PREFIX);

/** The id of a key. Undefined for a text that no service has issued: of another form, or with a wrong checksum. */
export function idOfKey(text: string): ServiceAccountKeyId | undefined {
  if (!KEY_PATTERN.test(text) || checkOf(text.slice(0, -CHECK_DIGITS)) !== text.slice(-CHECK_DIGITS)) return undefined;
  return parseId<ServiceAccountKeyId>(text.slice(PREFIX.length, text.indexOf('_', PREFIX.length)));
}
