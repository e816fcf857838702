import { mistakesIn } from '../contract/shapes.js';
import { CANARY } from '../log-lines.js';
import { BesiegedGateway } from './besieged-gateway.js';
import { withoutEmptyEdges } from './comparable.js';
import { HARMLESS_ANSWERS } from './harmless-answers.js';
import { BROKEN_ANSWERS, FOREIGN_ANSWERS, type HostileAnswer, TOO_LONG, WRONG_FIELDS } from './hostile-answers.js';
import { body, json } from './hostile-upstream.js';

const PUBLISHED = {
  502: { errorCode: 'upstream_error', reason: 'upstream_error' },
  503: { errorCode: 'unavailable', reason: 'unavailable' },
  504: { errorCode: 'upstream_timeout', reason: 'upstream_timeout' },
} as const;

describe('Given a gateway whose upstream cannot be believed', () => {
  let besieged: BesiegedGateway;
  beforeAll(async () => {
    besieged = await BesiegedGateway.start();
  }, 60_000);
  afterAll(() => besieged?.stop());
  beforeEach(() => {
    besieged.upstream.asked.length = 0;
  });
  /** It lives, and the failures of this test are none of the next. */
  afterEach(async () => {
    besieged.upstream.trick = json([]);
    expect(await besieged.ask('/accounts')).toMatchObject({ status: 200, body: [] });
    expect(besieged.wrongLines()).toEqual([]);
  });

  it.each<HostileAnswer>([...BROKEN_ANSWERS, ...FOREIGN_ANSWERS, ...WRONG_FIELDS])(
    'When it $what Then the caller learns that it failed, the log why, and nobody a value',
    async ({ trick, status, why }) => {
      besieged.upstream.trick = trick;

      const answer = await besieged.askAndRead('/transfers/1');

      expect(answer).toMatchObject({ status, body: PUBLISHED[status] });
      expect(mistakesIn(answer.body, 'ErrorBody')).toEqual([]);
      expect([...answer.headers.keys()]).not.toContain('set-cookie');
      expect(answer.text + answer.lines.join()).not.toContain(CANARY);
      expect(answer.lines).toEqual([
        expect.stringMatching(/^\{"level":"warn"/),
        expect.stringMatching(/"msg":"request"/),
      ]);
      expect((JSON.parse(answer.lines[0] ?? '') as { why?: string }).why).toMatch(why);
      expect(besieged.upstream.asked).toHaveLength(1);
    },
  );

  it.each(TOO_LONG)('When an answer is %s Then it is not read to its end', async (_, trick) => {
    besieged.upstream.trick = trick;

    expect([502, 504]).toContain((await besieged.ask('/transfers/1')).status);
  });

  it.each(HARMLESS_ANSWERS)('When a transfer has %s Then it passes as it is', async (_, text) => {
    besieged.upstream.trick = body(text, { 'content-type': 'application/json; charset=utf-8' });

    const { status, text: passed } = await besieged.ask('/transfers/1');

    expect([status, withoutEmptyEdges(passed)]).toEqual([200, withoutEmptyEdges(text)]);
  });

  it('When it sends headers of its own Then none but those of the interface reaches the caller', async () => {
    const plain = await besieged.ask('/accounts');
    besieged.upstream.trick = json([], 200, {
      'set-cookie': `a=${CANARY}`,
      server: CANARY,
      'x-powered-by': CANARY,
      'x-request-id': CANARY,
      'access-control-allow-origin': '*',
      'www-authenticate': 'Basic',
      'cache-control': 'public, max-age=3600',
      'content-security-policy': 'default-src *',
      'idempotent-replayed': 'true',
      location: 'https://evil.example',
      etag: '"theirs"',
      connection: 'close, x-hop',
      'x-hop': CANARY,
      trailer: 'x-late',
      upgrade: 'h2c',
      link: '<https://evil.example/x>; rel="preload"',
    });

    const { headers, text } = await besieged.ask('/accounts');

    const told = (all: Headers) => [...all].filter(([name]) => !['date', 'x-request-id'].includes(name));
    expect(told(headers)).toEqual(told(plain.headers));
    expect([...headers.values(), text].join()).not.toContain(CANARY);
  });
});
