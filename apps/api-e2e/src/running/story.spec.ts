import { banking } from '../banking.js';
import { demoDataDir, RunningService, type TestDataDir } from '../running-service.js';

describe('story on a terminal', () => {
  let folder: TestDataDir;
  let service: RunningService;
  let played: string;

  beforeAll(async () => {
    folder = await demoDataDir();
    service = await RunningService.start({ dataDir: folder.path });
    played = await banking(folder.path, 'story', '--url', service.url);
  });
  afterAll(async () => {
    await service.stop();
    await folder.remove();
  });

  it('shows one payment that arrives and one that is returned', async () => {
    const [arrives, isSentBack] = played.split('\nA payment that ').slice(1) as [string, string];
    expect(arrives).toMatch(/ACSP G000 on its way\n.+ACSP G001 on its way\n.+ACCC +credited\n.+is completed\n/);
    expect(isSentBack).toMatch(/ACSP G000 on its way\n.+RJCT AC04 rejected\n.+is failed\n.+come back/);
    expect(arrives).toMatch(/quote .+ is \d+\.\d\d INR, fee \d+\.\d\d EUR\n/);
  });

  it('shows the events of each step', async () => {
    const [arrives, isSentBack] = played.split('\nA payment that ').slice(1) as [string, string];
    const [before, after] = arrives.split(/is completed\n/) as [string, string];
    expect(eventsIn(before)).toEqual([
      'recipient.added 1',
      'quote.created 1',
      ...['execution.started 1', 'order.completed 2', 'order.placed 1', 'transaction.created 1'],
      ...['transfer.booked 1', 'transfer.booked 1'],
    ]);
    expect(eventsIn(after)).toEqual(['execution.completed 2', 'transaction.completed 2']);
    const returned = [
      ...['execution.failed 2', 'transaction.completed 1', 'transaction.failed 3', 'transaction.returned 2'],
      'transfer.booked 1',
    ];
    expect(eventsIn(isSentBack.split(/is failed\n/)[1]!)).toEqual(returned);
  });

  it('debits the payment and its fee, then only the fee of the returned payment', async () => {
    const fees = [...played.matchAll(/ fee (\d+\.\d\d) EUR$/gm)].map(([, fee = '']) => cents(fee));
    const [before, between, beforeSecond, after] = [...played.matchAll(/^ {2}balance +(\d+\.\d\d) EUR$/gm)].map(
      ([, money = '']) => cents(money),
    );
    expect(between).toBe(before! - 10_000n - fees[0]!);
    expect(beforeSecond).toBe(between);
    expect(after).toBe(between! - fees[1]!);
  });
});

/** The printed events with their sequence: those of the recipient and the quote first, the others by name. */
function eventsIn(part: string): string[] {
  const events = [...part.matchAll(/^ {2}event {7}(\S+) +\S+ \d+, sequence (\d+)$/gm)].map(
    ([, type, sequence]) => `${type} ${sequence}`,
  );
  const isOfPayment = (event: string) => !/^(recipient|quote)/.test(event);
  return [...events.filter((event) => !isOfPayment(event)), ...events.filter(isOfPayment).sort()];
}

const cents = (money: string) => BigInt(money.replace('.', ''));
