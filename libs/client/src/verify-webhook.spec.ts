import { randomBytes } from 'node:crypto';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { signWebhook, verifyWebhook, type WebhookHeaders, WebhookVerificationError } from './webhooks.js';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const OTHER = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
const NEXT = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const AT = new Date('2026-11-23T12:00:00.900Z');
const options = { now: () => AT };

const webhook = {
  type: 'order.placed',
  timestamp: '2026-11-23T11:59:59.123456Z',
  data: { id: 12, type: 'order.placed', resource: { type: 'order', id: 5 }, sequence: 1 },
};

const signed = (secrets: string | readonly string[] = SECRET, at = AT) =>
  signWebhook(webhook, secrets, { id: 'evt_1_12', timestamp: at });

const faultOf = async (verified: Promise<unknown>) => {
  const error = await verified.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof WebhookVerificationError ? error.reason : error;
};

/** The example of the specification, which its libraries in all languages use as a test. */
const STANDARD = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  body: '{"test": 2432232314}',
  headers: {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
  options: { now: () => new Date(1_614_265_330_000) },
};

describe('example of Standard Webhooks', () => {
  it('has a valid signature, and is refused because its body is not a webhook', async () => {
    const verified = verifyWebhook(STANDARD.headers, STANDARD.body, STANDARD.secret, STANDARD.options);

    expect(await faultOf(verified)).toBe('body_malformed');
  });

  it('is refused for its body without the space', async () => {
    const body = JSON.stringify(JSON.parse(STANDARD.body));

    const verified = verifyWebhook(STANDARD.headers, body, STANDARD.secret, STANDARD.options);
    expect(await faultOf(verified)).toBe('signature_mismatch');
  });
});

describe('signed webhook', () => {
  it('is valid for the library of Standard Webhooks', async () => {
    const now = new Date();
    const { headers, body } = await signed([OTHER, SECRET], now);

    expect(new StandardWebhook(SECRET).verify(body, { ...headers })).toEqual(webhook);
    expect(new StandardWebhook(SECRET).sign('evt_1_12', now, body)).toBe(headers['webhook-signature'].split(' ')[1]);
  });

  it.each([
    ['id', { id: 'evt.1', timestamp: AT }],
    ['id', { id: '', timestamp: AT }],
    ['timestamp', { id: 'evt_1', timestamp: new Date(NaN) }],
    ['timestamp', { id: 'evt_1', timestamp: new Date(0) }],
  ])('needs a valid %s', async (name, invalid) => {
    await expect(signWebhook(webhook, SECRET, invalid)).rejects.toThrow(new RegExp(`^The ${name} `));
  });
});

describe('verification of a webhook', () => {
  it('returns the body, typed by its type', async () => {
    const { headers, body } = await signed();
    const verified = await verifyWebhook(headers, body, SECRET, options);

    expect(verified).toEqual(webhook);
    expect(verified.type === 'webhook.test' ? undefined : verified.data.resource.id).toBe(5);
  });

  it('accepts Headers, any case of names, values in an array, and a body of bytes', async () => {
    const { headers, body } = await signed();
    const upper = Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]);

    const forms: WebhookHeaders[] = [new Headers(headers), Object.fromEntries(upper) as WebhookHeaders];
    for (const form of forms) {
      expect(await verifyWebhook(form, Buffer.from(body), SECRET, options)).toEqual(webhook);
    }
  });

  it('accepts the old and the new secret during a rotation', async () => {
    const { headers, body } = await signed([SECRET, NEXT]);

    for (const secrets of [[OTHER, SECRET], [SECRET, OTHER], NEXT, [OTHER, NEXT]]) {
      expect(await verifyWebhook(headers, body, secrets, options)).toEqual(webhook);
    }
    expect(await faultOf(verifyWebhook(headers, body, OTHER, options))).toBe('signature_mismatch');
  });

  it.each([
    [-300, undefined],
    [-301, 'timestamp_too_old'],
    [300, undefined],
    [301, 'timestamp_too_new'],
  ])('allows five minutes between the clocks: %i seconds are %s', async (seconds, fault) => {
    const { headers, body } = await signed(SECRET, new Date(AT.getTime() + seconds * 1000));

    expect(await faultOf(verifyWebhook(headers, body, SECRET, options))).toBe(fault);
  });

  it('refuses every webhook with an invalid clock', async () => {
    const { headers, body } = await signed();

    const verified = verifyWebhook(headers, body, SECRET, { now: () => new Date(NaN) });
    expect(await faultOf(verified)).toBe('timestamp_too_old');
  });

  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('refuses %s missing or twice', async (name) => {
    const { headers, body } = await signed();
    const { [name]: value = '', ...others } = headers as Readonly<Record<string, string>>;

    expect(await faultOf(verifyWebhook(others, body, SECRET, options))).toBe('header_missing');
    expect(await faultOf(verifyWebhook(new Headers(others), body, SECRET, options))).toBe('header_missing');
    const twice = { ...others, [name]: [value, value] };
    expect(await faultOf(verifyWebhook(twice, body, SECRET, options))).toBe('header_malformed');
  });

  it.each([
    ['webhook-id', 'evt_1.1763899200', 'header_malformed'],
    ['webhook-id', '', 'header_malformed'],
    ['webhook-timestamp', '1763899200s', 'header_malformed'],
    ['webhook-timestamp', '+1763899200', 'header_malformed'],
    ['webhook-signature', Array(17).fill('v1,AAAA').join(' '), 'header_malformed'],
    ['webhook-signature', '', 'signature_mismatch'],
    ['webhook-signature', `v1,${'A'.repeat(43)}`, 'signature_mismatch'],
    ['webhook-signature', 'v1,AAAA', 'signature_mismatch'],
    ['webhook-signature', `v2,${'A'.repeat(43)}=`, 'signature_mismatch'],
  ])('refuses %s %j', async (name, value, fault) => {
    const { headers, body } = await signed();

    expect(await faultOf(verifyWebhook({ ...headers, [name]: value }, body, SECRET, options))).toBe(fault);
  });

  it('refuses another base64 text of the same signature', async () => {
    const { headers, body } = await signed();
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
    const signature = headers['webhook-signature'].replace(
      /.=$/,
      (end) => `${alphabet[alphabet.indexOf(end.charAt(0)) ^ 1]}=`,
    );

    expect(Buffer.from(signature.slice(3), 'base64')).toEqual(
      Buffer.from(headers['webhook-signature'].slice(3), 'base64'),
    );
    const verified = verifyWebhook({ ...headers, 'webhook-signature': signature }, body, SECRET, options);
    expect(await faultOf(verified)).toBe('signature_mismatch');
  });

  it('refuses a signature of another version', async () => {
    const { headers, body } = await signed();
    const signature = headers['webhook-signature'].replace('v1,', 'v2,');

    const verified = verifyWebhook({ ...headers, 'webhook-signature': signature }, body, SECRET, options);
    expect(await faultOf(verified)).toBe('signature_mismatch');
  });

  it.each([
    '[]',
    'null',
    '{"type":"a","timestamp":"b"}',
    '{"type":"a","timestamp":"b","data":{"id":9007199254740993}}',
  ])('refuses the signed body %s', async (body) => {
    const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': '1614265330' };
    const signature = new StandardWebhook(SECRET).sign('evt_1', STANDARD.options.now(), body);

    const verified = verifyWebhook({ ...headers, 'webhook-signature': signature }, body, SECRET, STANDARD.options);
    expect(await faultOf(verified)).toBe('body_malformed');
  });

  it('throws a TypeError for a parsed body', async () => {
    const { headers, body } = await signed();

    const verified = verifyWebhook(headers, JSON.parse(body) as string, SECRET, options);
    await expect(verified).rejects.toThrow(
      new TypeError('The body is neither a text nor a Uint8Array. Pass it as it arrived, before it is parsed.'),
    );
  });

  it.each([
    ['none', []],
    ['an empty text', ''],
    ['a short one', `whsec_${randomBytes(16).toString('base64')}`],
    ['one without its prefix', SECRET.slice(6)],
    ['one that is not base64', 'whsec_%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%'],
    ['one with another prefix', SECRET.replace('whsec_', 'whsk_')],
    ['a valid one beside an undefined one', [SECRET, undefined as unknown as string]],
  ])('throws a TypeError that quotes nothing for the secrets: %s', async (_, secrets) => {
    const { headers, body } = await signed();

    const error = await faultOf(verifyWebhook(headers, body, secrets, options));
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toMatch(
      /^TypeError: (There is no secret|A secret has another form)\. A secret is "whsec_" and/,
    );
  });
});
