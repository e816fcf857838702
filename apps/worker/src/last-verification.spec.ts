import { verificationChannel } from '@banking/operations';
import { LastVerification } from './last-verification.js';

let last: LastVerification;
let now: jest.SpyInstance<number, []>;

beforeEach(() => {
  now = jest.spyOn(performance, 'now').mockReturnValue(0);
  last = new LastVerification();
});
afterEach(() => {
  last.close();
  now.mockRestore();
});

const proven = (cell?: string) => verificationChannel.publish({ subject: 'new', outcome: 'proven', rows: 1, cell });

describe('the age of the last verification', () => {
  it('is missing before new transactions were proven', () => {
    verificationChannel.publish({ subject: 'account', outcome: 'proven', rows: 1 });
    verificationChannel.publish({ subject: 'new', outcome: 'findings', rows: 1 });

    expect(last.read()).toBeUndefined();
  });

  it('is that of the only database', () => {
    proven();
    now.mockReturnValue(12_500);

    expect(last.read()).toEqual({ ageSeconds: 12 });
  });

  it('is that of the oldest of several databases, with that of each', () => {
    proven('home');
    now.mockReturnValue(30_000);
    proven('b');
    now.mockReturnValue(40_000);

    expect(last.read()).toEqual({ ageSeconds: 40, cells: { home: 40, b: 10 } });
  });
});
