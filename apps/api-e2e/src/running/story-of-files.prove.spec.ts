import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bankingWith } from '../running-service.js';

describe('story --files on a terminal', () => {
  it('pays over files, lets money arrive, agrees with the statement, and leaves nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'banking-e2e-'));
    // As root, the database server runs as another user, who must enter the folder.
    await chmod(folder, 0o711);
    try {
      const played = await bankingWith({ TMPDIR: folder }, 'story', '--files');

      const [credited, returned, arrives] = played.split('\nA payment that ').slice(1) as [string, string, string];
      const balances = (part: string) =>
        [...part.matchAll(/^ {2}balance +(\d+\.\d\d) EUR$/gm)].map(([, money = '']) => BigInt(money.replace('.', '')));
      expect(credited).toMatch(/^ {2}bank +took {5}PAY-\S+\.xml/m);
      expect(credited).toMatch(/transaction (\d+) is completed\n/);
      expect(returned).toMatch(/transaction (\d+) is failed\n.+the money has come back\.\n/);
      const [before, after] = balances(arrives);
      expect(after).toBe(before! + 25_000n);
      expect(arrives).toMatch(/^ {2}event {7}deposit\.booked +deposit \d+, sequence 1$/m);
      expect(played).toContain('The books are verified: in order.');
      expect(await readdir(folder)).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }, 300_000);
});
