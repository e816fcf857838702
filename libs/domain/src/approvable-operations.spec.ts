import { ADMINISTRATORS_GROUPS } from './approvable-operations.js';

describe('the requests that few are shown', () => {
  it('are those of the groups whose lists are for administrators', () => {
    expect([...ADMINISTRATORS_GROUPS].sort()).toEqual(['endpoints', 'keys', 'members', 'serviceAccounts']);
  });
});
