import { readDecisions } from './decisions-config.js';
import { readerOf } from './environment-reader.js';

const URL = 'https://decisions.example/payouts';
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const OLD = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;

function read(environment: Readonly<Record<string, string>>) {
  const reader = readerOf(environment);
  return { config: readDecisions(reader), mistakes: reader.mistakes };
}

describe('the configuration of the decision hook', () => {
  it('is none without an address', () => {
    expect(read({})).toEqual({ config: undefined, mistakes: [] });
  });

  it.each([
    [
      { DECISION_URL: URL, DECISION_SECRET: SECRET },
      { url: URL, secrets: [SECRET] },
    ],
    [
      { DECISION_URL: URL, DECISION_SECRET: `${SECRET}, ${OLD}` },
      { url: URL, secrets: [SECRET, OLD] },
    ],
    [
      { DECISION_URL: 'http://127.0.0.1:9/x', DECISION_SECRET: SECRET },
      { url: 'http://127.0.0.1:9/x', secrets: [SECRET] },
    ],
  ])('is an address and its secrets: %j', (environment, config) => {
    expect(read(environment)).toEqual({ config, mistakes: [] });
  });

  it.each([
    [{ DECISION_SECRET: SECRET }, /without DECISION_URL/],
    [{ DECISION_URL: URL }, /DECISION_SECRET is not a secret/],
    [{ DECISION_URL: URL, DECISION_SECRET: 'whsec_c2hvcnQ=' }, /DECISION_SECRET is not a secret/],
    [{ DECISION_URL: 'http://decisions.example', DECISION_SECRET: SECRET }, /https/],
    [{ DECISION_URL: 'https://a:b@decisions.example', DECISION_SECRET: SECRET }, /login/],
    [{ DECISION_URL: 'ftp://decisions.example', DECISION_SECRET: SECRET }, /not a URL/],
  ])('refuses %j, without a secret in the message', (environment, message) => {
    const { mistakes } = read(environment);

    expect(mistakes.join('\n')).toMatch(message);
    expect(mistakes.join('\n')).not.toContain(SECRET);
  });
});
