import { Module } from '@nestjs/common';
import { QuotesController } from './quotes.controller.js';

@Module({ controllers: [QuotesController] })
export class QuotesModule {}
