import type { OpenAPIObject } from '@nestjs/swagger';
import { verifyWebhook } from '@banking/client/webhooks';
import { offlineDocument } from './offline-document.js';
import { EXAMPLE_SECRET } from './webhooks.js';

interface DocumentedWebhook {
  readonly post: {
    readonly description: string;
    readonly parameters: readonly { readonly name: string; readonly example: string }[];
    readonly requestBody: {
      readonly content: {
        readonly 'application/json': { readonly examples: Readonly<Record<string, { readonly value: object }>> };
      };
    };
    readonly responses: object;
  };
}

describe('webhooks of the OpenAPI document', () => {
  let webhooks: Readonly<Record<string, DocumentedWebhook>>;
  beforeAll(async () => {
    const document: OpenAPIObject = await offlineDocument();
    webhooks = document.webhooks as unknown as typeof webhooks;
  });

  it.each([
    ['event', ['placed']],
    ['test', ['test']],
  ])('show for %s an example that verifies with the documented secret', async (kind, names) => {
    const { description, parameters, requestBody } = webhooks[kind]!.post;
    const bodies = requestBody.content['application/json'].examples;
    const secret = /`(whsec_\S+)`/.exec(description)?.[1] ?? '';

    expect(Object.keys(bodies)).toEqual(names);
    expect(secret).toBe(EXAMPLE_SECRET);
    for (const { value } of Object.values(bodies)) {
      const headers = Object.fromEntries(parameters.map(({ name, example }) => [name, example]));
      const now = () => new Date(Number(headers['webhook-timestamp']) * 1_000);

      expect(await verifyWebhook(headers, JSON.stringify(value), secret, { now })).toEqual(value);
    }
  });

  it('state what the service does with success, 410 and every other response', () => {
    for (const { post } of Object.values(webhooks)) {
      expect(Object.keys(post.responses).sort()).toEqual(['2XX', '410', 'default']);
    }
  });
});
