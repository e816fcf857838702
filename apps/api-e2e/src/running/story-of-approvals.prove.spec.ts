import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bankingWith } from '../running-service.js';

describe('story --approvals on a terminal', () => {
  it('pays what a second person approves, and nothing that this person rejects', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'banking-e2e-'));
    // As root, the database server runs as another user, who must enter the folder.
    await chmod(folder, 0o711);
    try {
      const played = await bankingWith({ TMPDIR: folder }, 'story', '--approvals');

      const [approved, rejected] = played.split('\nA payment ').slice(1) as [string, string];
      const balances = (part: string) =>
        [...part.matchAll(/^ {2}balance +(\d+\.\d\d) EUR$/gm)].map(([, money = '']) => BigInt(money.replace('.', '')));
      const [before, after] = balances(approved);
      expect(before! - after!).toBeGreaterThanOrEqual(250_000n);
      expect(balances(rejected)).toEqual([after, after]);
      for (const part of [approved, rejected]) {
        expect(part).toMatch(/^ {2}Ada +cannot approve: Who makes a request/m);
        expect(part).toMatch(/^ {2}Dana +sees 2500\.00 EUR for Asha Rao, who gets \d+\.\d\d INR$/m);
        expect(part).toMatch(/^ {2}event +approval\.required +approval \d+, sequence 1$/m);
      }
      expect(approved).toMatch(/transaction \d+ is completed\n/);
      expect(rejected).toContain('An approver rejected the order.');
      expect(played).toContain('The books are verified: in order.');
      expect(await readdir(folder)).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }, 300_000);
});
