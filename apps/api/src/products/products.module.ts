import { Module } from '@nestjs/common';
import { CachedResponsesModule } from '../http/cached-responses.module.js';
import { ProductsController } from './products.controller.js';

@Module({ imports: [CachedResponsesModule], controllers: [ProductsController] })
export class ProductsModule {}
