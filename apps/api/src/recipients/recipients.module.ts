import { Module } from '@nestjs/common';
import { CachedResponsesModule } from '../http/cached-responses.module.js';
import { RecipientSchemasController } from './recipient-schemas.controller.js';
import { RecipientsController } from './recipients.controller.js';

@Module({ imports: [CachedResponsesModule], controllers: [RecipientSchemasController, RecipientsController] })
export class RecipientsModule {}
