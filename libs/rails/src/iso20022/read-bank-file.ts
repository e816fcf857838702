import { BankFileError, type BankRecord } from './bank-records.js';
import type { MessageReader } from './message-reader.js';
import { CashReportReader } from './read-cash-report.js';
import { StatusReportReader } from './read-status-report.js';
import { readXml, type XmlElement } from './read-xml.js';

/** Messages by the element below `Document`. Versions before 2009 have their number in it. */
const MESSAGES: Readonly<Record<string, (message: string) => MessageReader>> = {
  'pain.002': (message) => new StatusReportReader(message),
  'camt.052': (message) => new CashReportReader(message, 'report', 'Rpt'),
  'camt.053': (message) => new CashReportReader(message, 'statement', 'Stmt'),
  'camt.054': (message) => new CashReportReader(message, 'notification', 'Ntfctn'),
};

const ELEMENTS: Readonly<Record<string, string>> = {
  CstmrPmtStsRpt: 'pain.002',
  'pain.002.001.02': 'pain.002',
  BkToCstmrAcctRpt: 'camt.052',
  BkToCstmrStmt: 'camt.053',
  BkToCstmrDbtCdtNtfctn: 'camt.054',
};

/**
 * The namespaces of ISO 20022 and of SWIFT before it. The middle number is the variant: `pain.002.003.03` is that of the German banks,
 * whose elements are the same.
 */
const NAMESPACE = /^urn:(?:iso:std:iso:20022:tech:xsd:|swift:xsd:\$?)((pain\.002|camt\.05[234])\.00[1-3]\.([0-9]{2}))$/;

const NOT_ONE_OF_FOUR = 'It is not a pain.002, camt.052, camt.053 or camt.054.';

/**
 * Reads a file of a bank in bounded memory: `pain.002`, `camt.052`, `camt.053` or `camt.054`, versions 02 to 13. Names and places of elements
 * differ between the versions, and all of them are read.
 *
 * @throws BankFileError for every other file, for values that are wrong, and for a file that is not complete. What was yielded before
 *   must not be kept then.
 */
export async function* readBankFile(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<BankRecord> {
  let reader: MessageReader | undefined;
  let prefix = '';
  const isInParts = (path: string, element: XmlElement) => {
    if (!path.startsWith('Document/')) return false;
    if (reader) return path.startsWith(prefix) && reader.isInParts(path.slice(prefix.length));
    reader = readerOf(element);
    prefix = `${path}/`;
    return true;
  };
  for await (const part of readXml(chunks, isInParts)) {
    if (part.path !== 'Document' && !part.path.startsWith('Document/')) throw new BankFileError(NOT_ONE_OF_FOUR);
    if (reader && part.path !== 'Document') yield* reader.read(part, part.path.slice(prefix.length));
  }
  if (!reader) throw new BankFileError(NOT_ONE_OF_FOUR);
}

function readerOf({ name, namespace }: XmlElement): MessageReader {
  const [, message, kind = '', version = ''] = NAMESPACE.exec(namespace) ?? [];
  const create = MESSAGES[kind];
  if (message === undefined || !create || ELEMENTS[name] !== kind) throw new BankFileError(NOT_ONE_OF_FOUR);
  if (version < '02' || version > '13') {
    throw new BankFileError(`It is a ${kind} of a version that is not read. Versions 02 to 13 are.`);
  }
  return create(message);
}
