import * as fc from 'fast-check';
import { challengeOf, readStepUps, satisfies, type SignIn } from './step-up.js';

const read = (text: string) => {
  const mistakes: string[] = [];
  return { mistakes, stepUps: readStepUps({ text: () => text, mistakes }) };
};

describe('STEP_UP', () => {
  it('names operations with classes, a maximum age, or both', () => {
    const { mistakes, stepUps } = read(
      'placeOrder,createServiceAccountKey acr=phr,phrh max_age=300; openAccount max_age=0;',
    );

    expect(mistakes).toEqual([]);
    expect(Object.fromEntries(stepUps)).toEqual({
      placeOrder: { acrValues: ['phr', 'phrh'], maxAgeS: 300 },
      createServiceAccountKey: { acrValues: ['phr', 'phrh'], maxAgeS: 300 },
      openAccount: { acrValues: [], maxAgeS: 0 },
    });
    expect(read('').stepUps.size).toBe(0);
    expect(read('placeOrder acr=urn:mace:incommon:iap:silver').mistakes).toEqual([]);
  });

  it.each([
    ['placeOrder', /without a valid acr or max_age/],
    ['placeOrder acr=', /without a valid acr or max_age/],
    ['placeOrder acr=a"b', /without a valid acr or max_age/],
    ['placeOrder max_age=5m', /without a valid acr or max_age/],
    ['placeOrder max_age=1 max_age=2', /without a valid acr or max_age/],
    ['placeOrder level=2', /without a valid acr or max_age/],
    ['payOrder max_age=1', /"payOrder", which is no operation/],
    ['constructor max_age=1', /"constructor", which is no operation/],
    ['placeOrder max_age=1; placeOrder acr=a', /names placeOrder twice/],
  ])('%s is refused', (text, mistake) => {
    expect(read(text).mistakes).toEqual([expect.stringMatching(mistake)]);
  });
});

describe('a sign-in', () => {
  const now = 1_800_000_000;

  it.each<[object, SignIn, boolean]>([
    [{ acrValues: ['phr'] }, { acr: 'phr' }, true],
    [{ acrValues: ['phr'] }, { acr: 'pwd' }, false],
    [{ acrValues: ['phr'] }, {}, false],
    [{ acrValues: [], maxAgeS: 300 }, { authenticatedAtS: now - 300 }, true],
    [{ acrValues: [], maxAgeS: 300 }, { authenticatedAtS: now - 301 }, false],
    [{ acrValues: [], maxAgeS: 300 }, { authenticatedAtS: now + 30 }, true],
    [{ acrValues: [], maxAgeS: 300 }, { authenticatedAtS: now + 31 }, false],
    [{ acrValues: [], maxAgeS: 300 }, { acr: 'phr' }, false],
    [{ acrValues: ['phr'], maxAgeS: 300 }, { acr: 'phr', authenticatedAtS: now - 301 }, false],
  ])('for %j with %j is enough: %s', (stepUp, signIn, isEnough) => {
    expect(satisfies(stepUp as never, signIn, now)).toBe(isEnough);
  });

  it('that says nothing is never enough', () => {
    const stepUp = fc.record({
      acrValues: fc.array(fc.constantFrom('a', 'b')),
      maxAgeS: fc.option(fc.nat(), { nil: undefined }),
    });
    fc.assert(
      fc.property(stepUp, (needed) => {
        fc.pre(needed.acrValues.length > 0 || needed.maxAgeS !== undefined);
        expect(satisfies(needed, {}, now)).toBe(false);
      }),
    );
  });

  it('is asked for by a challenge of RFC 9470', () => {
    expect(challengeOf({ acrValues: ['phr', 'phrh'], maxAgeS: 300 })).toBe(
      'Bearer error="insufficient_user_authentication", acr_values="phr phrh", max_age="300"',
    );
    expect(challengeOf({ acrValues: [], maxAgeS: 0 })).toBe(
      'Bearer error="insufficient_user_authentication", max_age="0"',
    );
  });
});
