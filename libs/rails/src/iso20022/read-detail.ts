import type { EntryParty } from './bank-records.js';
import { referenceOf } from './entry-identity.js';
import { elementAt, elementsNamed, textAt, type XmlElement } from './read-xml.js';
import { codeOf, cutText, readAccountId } from './xml-values.js';

/** What one `TxDtls` says, in as few objects as possible: an entry may have thousands. */
export interface EntryDetail {
  /** The amounts that it gives, the best first: of the transaction, instructed, of its counter value. */
  readonly amounts: readonly XmlElement[];
  readonly direction: string | undefined;
  readonly bankReference: string | undefined;
  readonly endToEndId: string | undefined;
  readonly instructionId: string | undefined;
  readonly transactionId: string | undefined;
  readonly uetr: string | undefined;
  readonly creditorReference: string | undefined;
  readonly remittance: string | undefined;
  readonly debtor: EntryParty;
  readonly creditor: EntryParty;
  readonly returnReason: string | undefined;
}

export function readDetail(element: XmlElement): EntryDetail {
  const references = elementAt(element, 'Refs');
  const details = elementAt(element, 'AmtDtls');
  const remitted = elementAt(element, 'RmtInf');
  const returned = elementAt(element, 'RtrInf');
  return {
    amounts: [
      elementAt(element, 'Amt'),
      elementAt(details, 'TxAmt', 'Amt'),
      elementAt(details, 'InstdAmt', 'Amt'),
      elementAt(details, 'CntrValAmt', 'Amt'),
    ].filter((amount) => amount !== undefined),
    direction: textAt(element, 'CdtDbtInd'),
    bankReference: referenceOf(textAt(references, 'AcctSvcrRef')),
    endToEndId: referenceOf(textAt(references, 'EndToEndId')),
    instructionId: referenceOf(textAt(references, 'InstrId')),
    transactionId: referenceOf(textAt(references, 'TxId')),
    uetr: referenceOf(textAt(references, 'UETR'))?.toLowerCase(),
    creditorReference: creditorReferenceOf(remitted),
    remittance: remittanceOf(remitted) ?? textAt(element, 'AddtlTxInf'),
    debtor: partyOf(element, 'Dbtr'),
    creditor: partyOf(element, 'Cdtr'),
    returnReason:
      returned && (cutText(codeOf(elementAt(returned, 'Rsn') ?? elementAt(returned, 'RtrRsn')), 35) ?? 'NARR'),
  };
}

function creditorReferenceOf(remitted: XmlElement | undefined): string | undefined {
  for (const structured of elementsNamed(remitted, 'Strd')) {
    const information = elementAt(structured, 'CdtrRefInf');
    const reference = textAt(information, 'Ref') ?? textAt(information, 'CdtrRef');
    if (reference !== undefined) return cutText(reference, 100);
  }
  return undefined;
}

function remittanceOf(remitted: XmlElement | undefined): string | undefined {
  const texts = [
    ...elementsNamed(remitted, 'Ustrd'),
    ...elementsNamed(remitted, 'Strd').flatMap((structured) => elementsNamed(structured, 'AddtlRmtInf')),
  ].map(({ text }) => text);
  return cutText(texts.filter((text) => text !== '').join(' ') || undefined, 2_000);
}

/** Since version 08 a party has `Pty` around it; since version 02 a bank is named by `BIC`, and since version 04 by `BICFI`. */
function partyOf(element: XmlElement, role: 'Dbtr' | 'Cdtr'): EntryParty {
  const parties = elementAt(element, 'RltdPties');
  const nameIn = (party: XmlElement | undefined) =>
    textAt(party, 'Nm') ?? textAt(party, 'Pty', 'Nm') ?? textAt(party, 'Agt', 'FinInstnId', 'Nm');
  const name = nameIn(elementAt(parties, role)) ?? nameIn(elementAt(parties, `Ultmt${role}`));
  const { iban, other } = readAccountId(elementAt(parties, `${role}Acct`));
  const bank = elementAt(element, 'RltdAgts', `${role}Agt`, 'FinInstnId');
  const member = textAt(bank, 'ClrSysMmbId', 'MmbId') ?? textAt(bank, 'ClrSysMmbId', 'Id');
  return {
    name: cutText(name, 200),
    account: cutText(iban ?? other, 100),
    bank: cutText(textAt(bank, 'BICFI') ?? textAt(bank, 'BIC') ?? member, 100),
  };
}
