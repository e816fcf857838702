import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { INTRODUCTION } from './introduction.js';

/** The OpenAPI document, made from the routes as they are declared. */
export function createDocument(app: INestApplication): OpenAPIObject {
  const outline = new DocumentBuilder()
    .setTitle('Banking transfer service')
    .setVersion('1.0.0')
    .setDescription(INTRODUCTION)
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer('/', 'This deployment')
    .addTag('Apps', 'Your apps, and who uses them in which workspace.')
    .addTag('Products', 'What accounts can be opened from.')
    .addTag('Corridors', 'How money can reach a country.')
    .addTag('Transfers', 'Movements of funds and their tracking.')
    .addTag('Health', 'For supervisors and load balancers.')
    .addBearerAuth({
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description:
        'An access token of your identity provider. In a demo deployment: `npm run -s token -- ada@northwind.example`.',
    })
    .build();
  return withPublishedNames(SwaggerModule.createDocument(app, outline, { autoTagControllers: false }));
}

/** Schemas carry the names of the interface, not those of our classes. */
function withPublishedNames(document: OpenAPIObject): OpenAPIObject {
  const schemas = Object.entries(document.components?.schemas ?? {}).map(([name, schema]) => [published(name), schema]);
  const renamed = { ...document, components: { ...document.components, schemas: Object.fromEntries(schemas.sort()) } };
  const refs = /"\$ref":"#\/components\/schemas\/(\w+)"/g;
  const text = JSON.stringify(renamed).replace(
    refs,
    (_, name: string) => `"$ref":"#/components/schemas/${published(name)}"`,
  );
  return JSON.parse(text) as OpenAPIObject;
}

const published = (className: string) => className.replace(/Dto$/, '');
