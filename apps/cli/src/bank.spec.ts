import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ended, World } from './testing/world.js';

const world = new World();
const folder = join(world.dataDir, 'bank-files');
const DEBTOR = 'DE89370400440532013000';

/** A message of one payment. */
const PAYMENTS = `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"><CstmrCdtTrfInitn>
<GrpHdr><MsgId>M1</MsgId><CreDtTm>2026-11-27T10:00:00Z</CreDtTm><NbOfTxs>1</NbOfTxs><CtrlSum>12.50</CtrlSum><InitgPty><Nm>Harbour Ltd</Nm></InitgPty></GrpHdr>
<PmtInf><PmtInfId>P1</PmtInfId><PmtMtd>TRF</PmtMtd><ReqdExctnDt><Dt>2099-12-31</Dt></ReqdExctnDt><Dbtr><Nm>Harbour Ltd</Nm></Dbtr>
<DbtrAcct><Id><IBAN>${DEBTOR}</IBAN></Id></DbtrAcct><DbtrAgt><FinInstnId><BICFI>COBADEFFXXX</BICFI></FinInstnId></DbtrAgt>
<CdtTrfTxInf><PmtId><EndToEndId>E1</EndToEndId></PmtId><Amt><InstdAmt Ccy="EUR">12.50</InstdAmt></Amt><Cdtr><Nm>Ravi Menon</Nm></Cdtr>
<CdtrAcct><Id><IBAN>DE75512108001245126199</IBAN></Id></CdtrAcct></CdtTrfTxInf></PmtInf></CstmrCdtTrfInitn></Document>
`;

const sent = (kind: string) => readdirSync(join(folder, 'in')).filter((name) => name.includes(kind));
const bank = (...options: readonly string[]) => world.run(['bank', folder, '--delay', '0s', ...options]);

/** Waits until a process has printed a text. */
function printsOf({ stdout }: ChildProcess): (pattern: RegExp) => Promise<void> {
  let text = '';
  stdout!.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return async (pattern) => {
    while (!pattern.test(text)) await once(stdout!, 'data');
  };
}

beforeAll(() => {
  mkdirSync(join(folder, 'out'), { recursive: true });
});
afterAll(() => world.close());

describe('banking bank', () => {
  it('takes a file once, and prints a line for it, its payment and each answer', async () => {
    writeFileSync(join(folder, 'out/payments.xml'), PAYMENTS);

    const { exitCode, stdout, stderr } = await bank('--once');

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^took {5}payments.xml: message M1 with 1 payments$/m);
    expect(stdout).toMatch(/^status {3}E1 12\.50 EUR: ACSC$/m);
    expect([sent('pain.002').length, sent('camt.054').length]).toEqual([4, 1]);
    expect(await bank('--once')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
  });

  it('credits an incoming payment, and states it', async () => {
    const paid = await bank('--pay', '1250.00', '--to', DEBTOR, '--reference', 'NW0000000001', '--payer', 'Mia Stone');
    const stated = await bank('--statement');

    expect([paid.exitCode, stated.exitCode]).toEqual([0, 0]);
    const statement = readFileSync(join(folder, 'in', sent('camt.053')[0]!), 'utf8');
    expect(statement).toMatch(/>1000000\.00<[\s\S]*>1001237\.50<[\s\S]*>12\.50<[\s\S]*>1250\.00<[\s\S]*NW0000000001/);
  });

  it('refuses a payment of no amount', async () => {
    expect(await bank('--pay', '0.00', '--to', DEBTOR)).toEqual({
      ...{ exitCode: 1, stdout: '' },
      stderr: 'The amount must be above zero.\n',
    });
  });

  describe('in a folder that cannot be made', () => {
    let running: ChildProcess;
    // One that does not end would stay behind.
    afterEach(() => running.kill('SIGKILL'));

    it.each([['--once'], ['--statement']])('ends with %s, and says so', async (option) => {
      running = world.start(['bank', '/proc/banking', option]);

      expect(await ended(running)).toEqual({
        ...{ exitCode: 1, stdout: '' },
        stderr: expect.stringMatching(
          /^The folder \/proc\/banking cannot be made \([A-Z]+\)\. Choose one that this process may write\.\n$/,
        ) as string,
      });
    });
  });

  it('runs until it is stopped, and carries out what another process asks for', async () => {
    const running = world.start(['bank', folder]);
    const printed = printsOf(running);
    await printed(/^The bank works in /m);

    expect(await bank('--once')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/Another bank works in this folder/),
    });
    expect(await bank('--pay', '1', '--to', DEBTOR)).toMatchObject({ stdout: 'The running bank carries it out.\n' });
    await printed(/^sent .*camt\.054/m);
    running.kill('SIGTERM');

    expect((await once(running, 'exit'))[0]).toBe(143);
    expect(await bank('--once')).toMatchObject({ exitCode: 0 });
  });
});
