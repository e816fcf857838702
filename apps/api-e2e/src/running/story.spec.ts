import { banking } from '../banking.js';
import { demoDataDir, RunningService, type TestDataDir } from '../running-service.js';

describe('story on a terminal', () => {
  let folder: TestDataDir;
  let service: RunningService;

  beforeAll(async () => {
    folder = await demoDataDir();
    service = await RunningService.start({ dataDir: folder.path });
  }, 120_000);
  afterAll(async () => {
    await service.stop();
    await folder.remove();
  });

  it('shows one payment that arrives and one that is returned', async () => {
    const played = await banking(folder.path, 'story', '--url', service.url);

    const [arrives, isSentBack] = played.split('\nA payment that ').slice(1) as [string, string];
    expect(arrives).toMatch(/ACSP G000 on its way\n.+ACSP G001 on its way\n.+ACCC +credited\n.+is completed\n/);
    expect(isSentBack).toMatch(/ACSP G000 on its way\n.+RJCT AC04 rejected\n.+is failed\n.+come back/);
    expect(arrives).toMatch(/quote .+ is \d+\.\d\d INR, fee \d+\.\d\d EUR\n/);
  });

  it('debits the payment and its fee, then only the fee of the returned payment', async () => {
    const played = await banking(folder.path, 'story', '--url', service.url);

    const fees = [...played.matchAll(/ fee (\d+\.\d\d) EUR$/gm)].map(([, fee = '']) => cents(fee));
    const [before, between, beforeSecond, after] = [...played.matchAll(/^ {2}balance +(\d+\.\d\d) EUR$/gm)].map(
      ([, money = '']) => cents(money),
    );
    expect(between).toBe(before! - 10_000n - fees[0]!);
    expect(beforeSecond).toBe(between);
    expect(after).toBe(between! - fees[1]!);
  });
});

const cents = (money: string) => BigInt(money.replace('.', ''));
