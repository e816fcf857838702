import { PURPOSES, purposesOf } from './purposes.js';

describe('Given the purpose codes', () => {
  it('When a provider is named, Then its codes come with their texts', () => {
    expect(purposesOf('sandbox')).toEqual({
      IR001: 'Own account',
      IR002: 'Family maintenance',
      IR003: 'Education',
    });
  });

  it('When nobody goes by that name, Then there are none', () => {
    expect(purposesOf('nobody')).toEqual({});
  });

  it('When a provider lists a code, Then it lists it once', () => {
    expect(new Set(PURPOSES.map(({ provider, code }) => `${provider} ${code}`)).size).toBe(PURPOSES.length);
  });
});
