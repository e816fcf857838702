import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bankingWith } from '../running-service.js';

describe('story --cells on a terminal', () => {
  it('pays between two databases of its own, shows how both payments end, verifies, and leaves nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'banking-e2e-'));
    // As root, the database server runs as another user, who must enter the folder.
    await chmod(folder, 0o711);
    try {
      const played = await bankingWith({ TMPDIR: folder }, 'story', '--cells');

      const [arrives, comesBack] = played.split('\nA payment ').slice(1) as [string, string];
      const balances = (part: string) =>
        [...part.matchAll(/^ {2}pay(?:er|ee) +(\d+\.\d\d) USD$/gm)].map(([, money = '']) =>
          BigInt(money.replace('.', '')),
        );
      const [payer, payee, payerAfter, payeeAfter] = balances(arrives);
      expect([payerAfter, payeeAfter]).toEqual([payer! - 10_000n, payee! + 10_000n]);
      expect(arrives).toMatch(/transaction (\d+) is pending\n.+transaction \1 is completed\n/);
      expect(comesBack).toMatch(
        /transaction (\d+) is pending\n.+transaction \1 is failed\n.+the money has come back\.\n/,
      );
      for (const type of ['recipient.added', 'order.placed', 'transaction.completed']) {
        expect(arrives).toMatch(new RegExp(`^ {2}event {7}${type} +\\S+ \\d+, sequence \\d+$`, 'm'));
      }
      expect(arrives).toMatch(/^ {2}payee event +transfer\.booked +transfer \d+, sequence 1$/m);
      expect(comesBack).toMatch(/^ {2}payee event +account\.disabled +account \d+, sequence 2$/m);
      expect(comesBack).toMatch(/^ {2}event +transaction\.returned +transaction \d+, sequence \d+$/m);
      expect(balances(comesBack)).toEqual([payerAfter, 0n, payerAfter, 0n]);
      expect(played).toContain('The books of home, b, c and the payments between them are verified: in order.');
      expect(await readdir(folder)).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }, 300_000);
});
