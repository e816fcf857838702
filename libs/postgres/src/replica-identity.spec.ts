import { mistakeInReplica, replicaUnavailable } from './replica-identity.js';

const primary = { system: '7', database: '5', timeline: '00000002' };
const replica = { ...primary, isReplica: true };

describe('a replica', () => {
  it('is accepted with the cluster, the database and the timeline of the primary', () => {
    expect(mistakeInReplica(replica, primary)).toBeUndefined();
    expect(replicaUnavailable(replica, primary)).toBeUndefined();
  });

  it.each([
    ['is of another cluster', { system: '8' }, 'another cluster'],
    ['is of another database', { database: '6' }, 'another database'],
  ])('is a mistake if it %s', (_, difference, words) => {
    expect(mistakeInReplica({ ...replica, ...difference }, primary)).toContain(words);
  });

  it.each([
    ['was promoted', { isReplica: false }, 'no replica'],
    ['is on an older timeline', { timeline: '00000001' }, 'timeline'],
  ])('is unavailable if it %s', (_, difference, words) => {
    expect(mistakeInReplica({ ...replica, ...difference }, primary)).toBeUndefined();
    expect(replicaUnavailable({ ...replica, ...difference }, primary)).toContain(words);
  });
});
