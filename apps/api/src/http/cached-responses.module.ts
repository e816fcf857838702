import { Module } from '@nestjs/common';
import { CachedResponses } from './cached-responses.js';

/** One cache for the reference data of all resources. */
@Module({ providers: [CachedResponses], exports: [CachedResponses] })
export class CachedResponsesModule {}
