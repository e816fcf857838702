import { Module } from '@nestjs/common';
import { CachedResponsesModule } from '../http/cached-responses.module.js';
import { CorridorsController } from './corridors.controller.js';

@Module({ imports: [CachedResponsesModule], controllers: [CorridorsController] })
export class CorridorsModule {}
