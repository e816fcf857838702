/** An entry of a file that specs write. */
export interface SampleEntry {
  readonly amount: string;
  readonly direction?: 'CRDT' | 'DBIT';
  readonly reference?: string;
  readonly endToEndId?: string;
  readonly status?: string;
  readonly returned?: string;
  /** XML within `NtryDtls`, in place of one detail. */
  readonly details?: string;
  readonly isReversal?: boolean;
}

const BODY = {
  '052': ['BkToCstmrAcctRpt', 'Rpt'],
  '053': ['BkToCstmrStmt', 'Stmt'],
  '054': ['BkToCstmrDbtCdtNtfctn', 'Ntfctn'],
};

function entryOf(entry: SampleEntry, currency: string, day: string): string {
  const { amount, direction = 'CRDT', reference, endToEndId, status = 'BOOK', returned, details, isReversal } = entry;
  const detail =
    details ??
    `<TxDtls><Refs>${endToEndId === undefined ? '' : `<EndToEndId>${endToEndId}</EndToEndId>`}</Refs>${
      returned === undefined ? '' : `<RtrInf><Rsn><Cd>${returned}</Cd></Rsn></RtrInf>`
    }</TxDtls>`;
  return `<Ntry><Amt Ccy="${currency}">${amount}</Amt><CdtDbtInd>${direction}</CdtDbtInd>${
    isReversal === true ? '<RvslInd>true</RvslInd>' : ''
  }<Sts><Cd>${status}</Cd></Sts><BookgDt><Dt>${day}</Dt></BookgDt><ValDt><Dt>${day}</Dt></ValDt>${
    reference === undefined ? '' : `<AcctSvcrRef>${reference}</AcctSvcrRef>`
  }<NtryDtls>${detail}</NtryDtls></Ntry>`;
}

const balance = (code: string, amount: string, currency: string, day: string) =>
  `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp><Amt Ccy="${currency}">${amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>${day}</Dt></Dt></Bal>`;

/** A `camt.052`, `camt.053` or `camt.054` of one account. */
export function cashReport(
  kind: keyof typeof BODY,
  iban: string,
  entries: readonly SampleEntry[],
  { day = '2026-11-26', id = 'S1', currency = 'EUR', version = '08' } = {},
): string {
  const [body, report] = BODY[kind];
  const balances =
    kind === '053' ? balance('OPBD', '100.00', currency, day) + balance('CLBD', '200.00', currency, day) : '';
  const content = `<Id>${id}</Id><Acct><Id><IBAN>${iban}</IBAN></Id><Ccy>${currency}</Ccy></Acct>${balances}${entries
    .map((entry) => entryOf(entry, currency, day))
    .join('')}`;
  return `<?xml version="1.0" encoding="UTF-8"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.${kind}.001.${version}"><${body}><GrpHdr><MsgId>M-${id}</MsgId><CreDtTm>${day}T18:00:00</CreDtTm></GrpHdr><${report}>${content}</${report}></${body}></Document>`;
}

/** A `pain.002`. */
export function statusReport(original: string, group: string, payments: string, version = '10'): string {
  return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.${version}"><CstmrPmtStsRpt><GrpHdr><MsgId>R1</MsgId></GrpHdr><OrgnlGrpInfAndSts><OrgnlMsgId>${original}</OrgnlMsgId><OrgnlMsgNmId>pain.001.001.09</OrgnlMsgNmId>${group}</OrgnlGrpInfAndSts>${payments}</CstmrPmtStsRpt></Document>`;
}
