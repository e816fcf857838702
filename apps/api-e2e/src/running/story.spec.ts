import { banking } from '../banking.js';
import { newDataDir, RunningService } from '../running-service.js';

describe('Given the story on a terminal', () => {
  let folder: Awaited<ReturnType<typeof newDataDir>>;
  let service: RunningService;

  beforeAll(async () => {
    folder = await newDataDir();
    service = await RunningService.start({ dataDir: folder.path });
  }, 120_000);
  afterAll(async () => {
    await service.stop();
    await folder.remove();
  });

  it('When it is played against a service, Then one payment arrives and the other comes back', async () => {
    const played = await banking(folder.path, 'story', '--url', service.url);

    const [arrives, isSentBack] = played.split('\nA payment that ').slice(1) as [string, string];
    expect(arrives).toMatch(/ACSP G000 on its way\n.+ACSP G001 on its way\n.+ACCC +credited\n.+is completed\n/);
    expect(isSentBack).toMatch(/ACSP G000 on its way\n.+RJCT AC04 rejected\n.+is failed\n.+come back/);
    expect(arrives).toMatch(/quote .+ is \d+\.\d\d INR, fee \d+\.\d\d EUR\n/);
  });

  it('When it has been played, Then the balance has gone down by the payment and a fee, and then by a fee', async () => {
    const played = await banking(folder.path, 'story', '--url', service.url);

    const fees = [...played.matchAll(/ fee (\d+\.\d\d) EUR$/gm)].map(([, fee = '']) => cents(fee));
    const [before, between, beforeSecond, after] = [...played.matchAll(/^ {2}balance +(\d+\.\d\d) EUR$/gm)].map(([, money = '']) => cents(money)); // prettier-ignore
    expect(between).toBe(before! - 10_000n - fees[0]!);
    expect(beforeSecond).toBe(between);
    expect(after).toBe(between! - fees[1]!);
  });
});

const cents = (money: string) => BigInt(money.replace('.', ''));
