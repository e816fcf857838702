import type { Wire } from '@banking/postgres/testing';

/** Cuts the connection once, at the first bytes that contain the text. */
export function cutOnce(
  wire: Wire,
  direction: 'toServer' | 'toClient',
  text: string,
  onCut: () => unknown = () => undefined,
): void {
  let isCut = false;
  wire[direction] = (bytes) => {
    if (isCut || !bytes.includes(text)) return { pass: bytes };
    isCut = true;
    void onCut();
    return { isCut: true };
  };
}

/** Cuts the connection at the first response that contains the text, and every connection after it. */
export function cutAll(wire: Wire, text: string): void {
  let isCut = false;
  wire.toClient = (bytes) => {
    isCut ||= bytes.includes(text);
    return isCut ? { isCut } : { pass: bytes };
  };
}

/** Restores the connection. */
export function heal(wire: Wire): void {
  wire.toServer = (bytes) => ({ pass: bytes });
  wire.toClient = (bytes) => ({ pass: bytes });
}
