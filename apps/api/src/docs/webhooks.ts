import { type SignableWebhook, signWebhook } from '@banking/client/webhooks';
import { type Event, webhookIdOf } from '@banking/domain';
import { paragraphs } from '../access/operation.decorator.js';
import { EventDto } from '../events/event.dto.js';
import { EdgeField, Field, Ours, TimeField } from '../http/field.decorator.js';
import type { ExampleSource } from './examples.js';

/** The body of a webhook about an event. */
export class WebhookEventDto {
  @Field('ours', {
    type: 'string',
    description:
      'The type of the event, as in `data`. New types may be added; respond to those you do not know with 204.',
    example: 'order.completed',
  })
  readonly type!: string;

  @Ours()
  @TimeField('The time of the change. The header `webhook-timestamp` has the time of the attempt.', true)
  readonly timestamp!: string;

  @Ours()
  @EdgeField(() => EventDto, 'The event, as `GET /events/{eventId}` returns it. Read the resource for its contents.')
  readonly data!: EventDto;
}

/** The body of a webhook that tests an endpoint. */
export class WebhookTestDto {
  @Field('ours', {
    type: 'string',
    description: 'Always `webhook.test`.',
    enum: ['webhook.test'],
    example: 'webhook.test',
  })
  readonly type!: string;

  @Ours()
  @TimeField('The time at which the test was requested.', true)
  readonly timestamp!: string;

  @Field('ours', {
    type: 'object',
    additionalProperties: false,
    description: 'Empty, because a test belongs to no event.',
    example: {},
  })
  readonly data!: object;
}

/** The secret of the signed examples: public, so that a receiver can try its verification on them. */
export const EXAMPLE_SECRET = 'whsec_YSBwdWJsaWMgc2VjcmV0IGZvciBleGFtcGxlcyAxMjM=';

/** How long after its event an example was sent. */
const SENT_AFTER_MS = 1_000;

interface SignedExample {
  readonly name: string;
  readonly summary: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

const VERIFICATION = paragraphs(
  'Verify the signature before you use the body: `verifyWebhook` of `@banking/client/webhooks`, or a library of',
  '[Standard Webhooks](https://www.standardwebhooks.com) 1.0. It is made over `webhook-id`, `webhook-timestamp` and the body as it is sent,',
  'with full stops between them.',
  '',
  `The example is signed with the public secret \`${EXAMPLE_SECRET}\`. Its body is one line without spaces between the fields.`,
);

const HEADERS = {
  'webhook-id': 'The same for every attempt. A webhook can arrive twice: process an id once.',
  'webhook-timestamp':
    'The time of the attempt, in seconds since 1970. Refuse a time more than five minutes ago, or in the future.',
  'webhook-signature':
    'One or more signatures, with spaces between them: `v1,` and the HMAC-SHA256 in base64. ' +
    'For 24 hours after the rotation of a secret, there is one of each secret.',
} as const;

/** What the service does with the responses of a receiver. */
const RESPONSES = {
  '2XX': {
    description: 'The webhook was received. Respond before you process it: after 15 seconds, an attempt has failed.',
  },
  410: { description: 'The endpoint is no longer there. The service disables it, and sends nothing more.' },
  default: {
    description:
      'The attempt has failed, also for a redirect, which is not followed. The service tries ten times within four days; a test once.',
  },
};

/** The requests that the service sends to webhook endpoints, for the section `webhooks` of the document. */
export async function webhooks(source: ExampleSource) {
  return {
    event: {
      post: outline({
        operationId: 'receiveEvent',
        summary: 'Receive an event',
        description:
          'Sent to each webhook endpoint of the workspace that has the type, once for each event, and again after a failure.',
        schema: 'WebhookEvent',
        example: await eventExample(source),
      }),
    },
    test: {
      post: outline({
        operationId: 'receiveTest',
        summary: 'Receive a test',
        description: 'Sent once to an endpoint for which an administrator requested it. It belongs to no event.',
        schema: 'WebhookTest',
        example: await testExample(),
      }),
    },
  };
}

interface Outline {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly schema: string;
  readonly example: SignedExample | undefined;
}

function outline({ operationId, summary, description, schema, example }: Outline) {
  const examples = example && { [example.name]: { summary: example.summary, value: example.body } };
  return {
    operationId,
    summary,
    description: [description, VERIFICATION].join('\n\n'),
    security: [],
    parameters: Object.entries(HEADERS).map(([name, text]) => ({
      name,
      in: 'header',
      required: true,
      description: text,
      schema: { type: 'string' },
      ...(example && { example: example.headers[name] }),
      'x-provenance': 'ours',
    })),
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, ...(examples && { examples }) },
      },
    },
    responses: RESPONSES,
    'x-provenance': 'ours',
  };
}

/** A webhook of the recorded event. @returns undefined if none is recorded */
async function eventExample(source: ExampleSource): Promise<SignedExample | undefined> {
  const recorded = Object.entries(source.responses('getEvent'));
  const [name, { summary, value } = { summary: '' }] = recorded[0] ?? ['placed'];
  if (value === undefined) return undefined;
  const event = value as Event;
  const body = { type: event.type, timestamp: event.createdAt, data: event };
  return { name, summary, headers: await signedHeaders(webhookIdOf(1, event), body), body };
}

async function testExample(): Promise<SignedExample> {
  const body = { type: 'webhook.test', timestamp: '2026-11-23T12:00:00.000Z', data: {} };
  return { name: 'test', summary: 'A test', headers: await signedHeaders('tst_1_1_20261123120000000', body), body };
}

/** The headers as they are sent a second after the event, by the secret of the examples. */
async function signedHeaders(id: string, body: SignableWebhook): Promise<SignedExample['headers']> {
  const timestamp = new Date(Date.parse(body.timestamp) + SENT_AFTER_MS);
  return (await signWebhook(body, EXAMPLE_SECRET, { id, timestamp })).headers;
}
