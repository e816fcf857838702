import { faultsIn } from '../contract/shapes.js';
import { CANARY } from '../log-lines.js';
import { AttackedGateway } from './gateway-under-attack.js';
import { withoutEmptyEdges } from './comparable.js';
import { UNUSUAL_RESPONSES } from './harmless-responses.js';
import {
  BROKEN_RESPONSES,
  FOREIGN_RESPONSES,
  type HostileResponse,
  TOO_LONG,
  WRONG_FIELDS,
} from './hostile-responses.js';
import { body, json } from './hostile-upstream.js';

const PUBLISHED = {
  502: { errorCode: 'upstream_error', reason: 'upstream_error' },
  503: { errorCode: 'unavailable', reason: 'unavailable' },
  504: { errorCode: 'upstream_timeout', reason: 'upstream_timeout' },
} as const;

describe('gateway with invalid upstream responses', () => {
  let attacked: AttackedGateway;
  beforeAll(async () => {
    attacked = await AttackedGateway.start();
  });
  afterAll(() => attacked?.stop());
  beforeEach(() => {
    attacked.upstream.received.length = 0;
  });
  /** The gateway still responds, and the next test does not count the failures of this one. */
  afterEach(async () => {
    attacked.upstream.behaviour = json([]);
    expect(await attacked.sendRequest('/accounts')).toMatchObject({ status: 200, body: [] });
    expect(attacked.wrongLines()).toEqual([]);
  });

  it.each<HostileResponse>([...BROKEN_RESPONSES, ...FOREIGN_RESPONSES, ...WRONG_FIELDS])(
    'reports an upstream that $what without its values, and logs why',
    async ({ behaviour, status, why }) => {
      attacked.upstream.behaviour = behaviour;

      const response = await attacked.requestAndReadLog('/transfers/1');

      expect(response).toMatchObject({ status, body: PUBLISHED[status] });
      expect(faultsIn(response.body, 'ErrorBody')).toEqual([]);
      expect([...response.headers.keys()]).not.toContain('set-cookie');
      expect(response.text + response.lines.join()).not.toContain(CANARY);
      expect(response.lines).toEqual([
        expect.stringMatching(/^\{"level":"warn"/),
        expect.stringMatching(/"msg":"request"/),
      ]);
      expect((JSON.parse(response.lines[0] ?? '') as { why?: string }).why).toMatch(why);
      expect(attacked.upstream.received).toHaveLength(1);
    },
  );

  it.each(TOO_LONG)('stops reading a response that is %s', async (_, behaviour) => {
    attacked.upstream.behaviour = behaviour;

    expect([502, 504]).toContain((await attacked.sendRequest('/transfers/1')).status);
  });

  it.each(UNUSUAL_RESPONSES)('forwards a transfer with %s unchanged', async (_, text) => {
    attacked.upstream.behaviour = body(text, { 'content-type': 'application/json; charset=utf-8' });

    const { status, text: passed } = await attacked.sendRequest('/transfers/1');

    expect([status, withoutEmptyEdges(passed)]).toEqual([200, withoutEmptyEdges(text)]);
  });

  it('forwards only the headers of the interface', async () => {
    const plain = await attacked.sendRequest('/accounts');
    attacked.upstream.behaviour = json([], 200, {
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

    const { headers, text } = await attacked.sendRequest('/accounts');

    const comparableHeaders = (all: Headers) => [...all].filter(([name]) => !['date', 'x-request-id'].includes(name));
    expect(comparableHeaders(headers)).toEqual(comparableHeaders(plain.headers));
    expect([...headers.values(), text].join()).not.toContain(CANARY);
  });
});
