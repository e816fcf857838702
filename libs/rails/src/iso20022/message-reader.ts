import type { BankRecord } from './bank-records.js';
import type { XmlPart } from './read-xml.js';

/** Reads one message from its parts, without `Document` around it. */
export interface MessageReader {
  isInParts(path: string): boolean;
  /** @param path from the message on, such as `GrpHdr`; empty for the message itself */
  read(part: XmlPart, path: string): readonly BankRecord[];
}
