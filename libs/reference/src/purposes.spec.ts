import { PURPOSES, purposesOf } from './purposes.js';

describe('purpose codes', () => {
  it('have the texts of one provider', () => {
    expect(purposesOf('sandbox')).toEqual({
      IR001: 'Own account',
      IR002: 'Family maintenance',
      IR003: 'Education',
    });
  });

  it('are empty for an unknown provider', () => {
    expect(purposesOf('unknown')).toEqual({});
  });

  it('are unique for each provider', () => {
    expect(new Set(PURPOSES.map(({ provider, code }) => `${provider} ${code}`)).size).toBe(PURPOSES.length);
  });
});
