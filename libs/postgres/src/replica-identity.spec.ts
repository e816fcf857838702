import { mistakeInReplica } from './replica-identity.js';

const primary = { system: '7', database: '5', timeline: '00000002' };
const replica = { ...primary, isReplica: true };

describe('a replica', () => {
  it('is accepted with the cluster, the database and the timeline of the primary', () => {
    expect(mistakeInReplica(replica, primary)).toBeUndefined();
  });

  it.each([
    ['was promoted', { isReplica: false }, 'no replica'],
    ['is of another cluster', { system: '8' }, 'another cluster'],
    ['is of another database', { database: '6' }, 'another database'],
    ['is on an older timeline', { timeline: '00000001' }, 'timeline'],
  ])('is not accepted if it %s', (_, difference, words) => {
    expect(mistakeInReplica({ ...replica, ...difference }, primary)).toContain(words);
  });
});
