import XMLBuilder from 'fast-xml-builder';
import { minorUnits, toDecimal } from '@banking/domain';
import type { AccountState, DueStep, Entry, EntryDetail, MessageState, StatusState } from './bank-state.js';

const xml = new XMLBuilder({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  textNodeName: '#',
  suppressEmptyNode: true,
  format: true,
});

/** An element by its name: text, further elements, or a list of elements of that name. Undefined is left out. */
type Element = string | { readonly [name: string]: Element | readonly Element[] | undefined };

function written(message: string, root: string, body: Element): string {
  const document = { Document: { '@xmlns': `urn:iso:std:iso:20022:tech:xsd:${message}`, [root]: body } };
  return `<?xml version="1.0" encoding="UTF-8"?>\n${xml.build(document) as string}`;
}

/** When a message is made, and its id. */
export interface MessageHead {
  readonly id: string;
  readonly now: Date;
}

const timeOf = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;

const headerOf = ({ id, now }: MessageHead): Element => ({ MsgId: id, CreDtTm: timeOf(now) });

/** `pain.002.001.10`: the status of a message, its groups and its payments. */
export function statusReport(head: MessageHead, step: DueStep, message: MessageState | undefined): string {
  const payments = step.payments.map((status) => ({ status, payment: message!.payments[status.payment]! }));
  const groupIds = [
    ...new Set([
      ...step.groups.map(({ id }) => id),
      ...payments.map(({ payment }) => message!.groups[payment.group]!.id),
    ]),
  ];
  return written('pain.002.001.10', 'CstmrPmtStsRpt', {
    GrpHdr: headerOf(head),
    OrgnlGrpInfAndSts: {
      OrgnlMsgId: step.messageId,
      OrgnlMsgNmId: step.message,
      GrpSts: step.group?.status,
      StsRsnInf: step.group && reasonOf(step.group),
    },
    OrgnlPmtInfAndSts: groupIds.map((id) => {
      const group = step.groups.find((one) => one.id === id);
      return {
        OrgnlPmtInfId: id,
        PmtInfSts: group?.status,
        StsRsnInf: group && reasonOf(group),
        TxInfAndSts: payments
          .filter(({ payment }) => message!.groups[payment.group]!.id === id)
          .map(({ status, payment }) => ({
            OrgnlInstrId: payment.instructionId,
            OrgnlEndToEndId: payment.endToEndId,
            OrgnlUETR: payment.uetr,
            TxSts: status.status,
            StsRsnInf: reasonOf(status),
          })),
      };
    }),
  });
}

const reasonOf = ({ reason, text }: StatusState): Element | undefined =>
  reason === undefined ? undefined : { Rsn: { Cd: reason }, AddtlInf: text?.slice(0, 105) };

/** `camt.054.001.08`: entries of an account as soon as they are booked. */
export const notification = (head: MessageHead, account: AccountState, entries: readonly Entry[]): string =>
  written('camt.054.001.08', 'BkToCstmrDbtCdtNtfctn', {
    GrpHdr: headerOf(head),
    Ntfctn: {
      Id: head.id,
      CreDtTm: timeOf(head.now),
      Acct: accountOf(account),
      Ntry: entries.map((entry) => entryOf(entry, account.currency)),
    },
  });

/** The balances of a statement, in minor units, and the entries between them. */
export interface Statement {
  readonly sequence: number;
  readonly opening: bigint;
  readonly openedOn: string;
  readonly closing: bigint;
  readonly entries: readonly Entry[];
}

/** `camt.053.001.08`. Its closing balance is of the day of its making. */
export function statementOf(head: MessageHead, account: AccountState, statement: Statement): string {
  const { sequence, opening, openedOn, closing, entries } = statement;
  const today = head.now.toISOString().slice(0, 10);
  const { currency } = account;
  const sumOf = (direction?: Entry['direction']) => {
    const some = entries.filter((entry) => direction === undefined || entry.direction === direction);
    const sum = some.reduce((total, { amount }) => total + BigInt(amount), 0n);
    return { NbOfNtries: String(some.length), Sum: toDecimal(minorUnits(sum), currency) };
  };
  return written('camt.053.001.08', 'BkToCstmrStmt', {
    GrpHdr: headerOf(head),
    Stmt: {
      Id: head.id,
      ElctrncSeqNb: String(sequence),
      LglSeqNb: String(sequence),
      CreDtTm: timeOf(head.now),
      Acct: accountOf(account),
      Bal: [balanceOf('OPBD', opening, openedOn, currency), balanceOf('CLBD', closing, today, currency)],
      TxsSummry: { TtlNtries: sumOf(), TtlCdtNtries: sumOf('credit'), TtlDbtNtries: sumOf('debit') },
      Ntry: entries.map((entry) => entryOf(entry, currency)),
    },
  });
}

const balanceOf = (code: string, balance: bigint, on: string, currency: string): Element => ({
  Tp: { CdOrPrtry: { Cd: code } },
  Amt: amountOf(balance < 0n ? -balance : balance, currency),
  CdtDbtInd: balance < 0n ? 'DBIT' : 'CRDT',
  Dt: { Dt: on },
});

const accountOf = ({ id, isIban, currency, holder, bic }: AccountState): Element => ({
  Id: numberOf(id, isIban),
  Ccy: currency,
  Ownr: holder === '' ? undefined : { Nm: holder.slice(0, 140) },
  Svcr: bic === undefined ? undefined : { FinInstnId: { BICFI: bic } },
});

const numberOf = (id: string, isIban: boolean): Element => (isIban ? { IBAN: id } : { Othr: { Id: id } });

const amountOf = (amount: bigint, currency: string): Element => ({
  '@Ccy': currency,
  '#': toDecimal(minorUnits(amount), currency),
});

const INDICATORS = { credit: 'CRDT', debit: 'DBIT' } as const;

function entryOf(entry: Entry, currency: string): Element {
  const { reference, direction, amount, on, isSepa, details } = entry;
  const isReturn = details.some(({ returnReason }) => returnReason !== undefined);
  return {
    NtryRef: reference,
    Amt: amountOf(BigInt(amount), currency),
    CdtDbtInd: INDICATORS[direction],
    Sts: { Cd: 'BOOK' },
    BookgDt: { Dt: on },
    ValDt: { Dt: on },
    AcctSvcrRef: reference,
    BkTxCd: {
      Domn: {
        Cd: 'PMNT',
        Fmly: {
          Cd: direction === 'debit' || isReturn ? 'ICDT' : 'RCDT',
          SubFmlyCd: isReturn ? 'RRTN' : isSepa ? 'ESCT' : 'XBCT',
        },
      },
    },
    NtryDtls: {
      Btch:
        details.length > 1
          ? { NbOfTxs: String(details.length), TtlAmt: amountOf(BigInt(amount), currency) }
          : undefined,
      TxDtls: details.map((detail) => detailOf(detail, entry, currency)),
    },
  };
}

function detailOf(detail: EntryDetail, { direction, reference }: Entry, currency: string): Element {
  const { party, remittance, creditorReference, returnReason } = detail;
  // A return comes from the payee of the payment, who stays its creditor.
  const isOfCreditor = direction === 'debit' || returnReason !== undefined;
  const [who, whose] = isOfCreditor ? ['Cdtr', 'CdtrAcct'] : ['Dbtr', 'DbtrAcct'];
  const hasRemittance = remittance.length > 0 || creditorReference !== undefined;
  return {
    Refs: {
      MsgId: detail.messageId,
      AcctSvcrRef: reference,
      PmtInfId: detail.groupId,
      InstrId: detail.instructionId,
      EndToEndId: detail.endToEndId,
      UETR: detail.uetr,
    },
    Amt: amountOf(BigInt(detail.amount), currency),
    CdtDbtInd: INDICATORS[direction],
    RltdPties: {
      [who]: party.name === undefined ? undefined : { Pty: { Nm: party.name } },
      [whose]: party.account === undefined ? undefined : { Id: numberOf(party.account, party.isIban ?? false) },
    },
    RltdAgts:
      party.bic === undefined
        ? undefined
        : { [isOfCreditor ? 'CdtrAgt' : 'DbtrAgt']: { FinInstnId: { BICFI: party.bic } } },
    RmtInf: hasRemittance
      ? {
          Ustrd: remittance,
          Strd:
            creditorReference === undefined
              ? undefined
              : { CdtrRefInf: { Tp: { CdOrPrtry: { Cd: 'SCOR' } }, Ref: creditorReference } },
        }
      : undefined,
    RtrInf: returnReason === undefined ? undefined : { Rsn: { Cd: returnReason } },
  };
}
