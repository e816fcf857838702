import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import XMLBuilder from 'fast-xml-builder';
import { minorUnits, parseAmount, toDecimal } from '@banking/domain';

/** A payment of a file of specs. */
export interface SpecPayment {
  readonly endToEndId: string;
  /** A decimal. */
  readonly amount?: string;
  readonly currency?: string;
  readonly creditor?: string;
  readonly account?: string;
  readonly bic?: string;
  readonly address?: object;
  readonly remittance?: string;
}

export interface SpecMessage {
  readonly version?: '03' | '09';
  readonly id: string;
  readonly payments: readonly SpecPayment[];
  readonly isBatch?: boolean;
  readonly debtor?: string;
  readonly executeOn?: string;
  readonly count?: string;
  readonly sum?: string;
}

/** An account of specs, which is the bank's own customer. */
export const DEBTOR = 'DE89370400440532013000';
/** Accounts whose payments arrive, and the accounts of the outcomes of docs/integrate/sandbox.md. */
export const CREDITOR = 'DE75512108001245126199';
export const ENDING = {
  rejectedAtOnce: 'DE52370400440532019001',
  rejectedLater: 'DE68370400440532019004',
  never: 'DE73370400440532019011',
  twice: 'DE94370400440532019021',
  disordered: 'DE67370400440532019022',
  rejectedThenSettled: 'DE40370400440532019023',
  settledThenRejected: 'DE13370400440532019024',
  returned: 'DE83370400440532019025',
} as const;

const xml = new XMLBuilder({ ignoreAttributes: false, attributeNamePrefix: '@', textNodeName: '#', format: true });

/** A file of `pain.001`, valid unless the message says otherwise. */
export function paymentFile({
  version = '09',
  id,
  payments,
  isBatch,
  debtor = DEBTOR,
  executeOn = '2026-11-27',
  ...totals
}: SpecMessage): string {
  const total = () => payments.reduce((sum, { amount = '10.00' }) => sum + parseAmount(amount, 'EUR'), 0n);
  const counted = {
    NbOfTxs: totals.count ?? String(payments.length),
    CtrlSum: totals.sum ?? toDecimal(minorUnits(total()), 'EUR'),
  };
  const bank = (bic: string) => ({ FinInstnId: { [version === '03' ? 'BIC' : 'BICFI']: bic } });
  const body = {
    GrpHdr: { MsgId: id, CreDtTm: '2026-11-27T10:00:00Z', ...counted, InitgPty: { Nm: 'Harbour Ltd' } },
    PmtInf: {
      ...{
        PmtInfId: `${id}-1`,
        PmtMtd: 'TRF',
        BtchBookg: isBatch === undefined ? undefined : String(isBatch),
        ...counted,
      },
      PmtTpInf: { SvcLvl: { Cd: 'SEPA' } },
      ReqdExctnDt: version === '03' ? executeOn : { Dt: executeOn },
      ...{
        Dbtr: { Nm: 'Harbour Ltd' },
        DbtrAcct: { Id: { IBAN: debtor } },
        DbtrAgt: bank('COBADEFFXXX'),
        ChrgBr: 'SLEV',
      },
      CdtTrfTxInf: payments.map((payment) => ({
        PmtId: { InstrId: payment.endToEndId, EndToEndId: payment.endToEndId },
        Amt: { InstdAmt: { '@Ccy': payment.currency ?? 'EUR', '#': payment.amount ?? '10.00' } },
        CdtrAgt: bank(payment.bic ?? 'MARKDEFF'),
        Cdtr: { Nm: payment.creditor ?? 'Ravi Menon', PstlAdr: payment.address },
        CdtrAcct: { Id: { IBAN: payment.account ?? CREDITOR } },
        RmtInf: { Ustrd: payment.remittance ?? 'Invoice 2107' },
      })),
    },
  };
  const document = {
    Document: { '@xmlns': `urn:iso:std:iso:20022:tech:xsd:pain.001.001.${version}`, CstmrCdtTrfInitn: body },
  };
  return `<?xml version="1.0" encoding="UTF-8"?>\n${xml.build(document) as string}`;
}

/** A folder between us and a bank. */
export class SpecFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'folder-bank-'));

  /** Leaves a file for the bank. */
  leave(name: string, text: string): void {
    writeFileSync(join(this.path, 'out', name), text);
  }

  /** The names of the files in a folder of it. */
  names(folder = 'in'): readonly string[] {
    return readdirSync(join(this.path, folder))
      .filter((name) => !name.startsWith('.'))
      .sort();
  }

  /** The files of a kind that the bank has sent, in its order. */
  texts(kind = ''): readonly string[] {
    return this.names()
      .filter((name) => name.includes(kind))
      .map((name) => readFileSync(join(this.path, 'in', name), 'utf8'));
  }
}
