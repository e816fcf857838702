import { Module } from '@nestjs/common';
import { ApiConfig } from '../config.js';
import { PAGES, PAGES_OF_GATEWAY } from './limits.js';
import { PagedReads } from './paged-reads.js';

/** One queue for the pages of all resources. */
@Module({
  providers: [
    {
      provide: PagedReads,
      inject: [ApiConfig],
      useFactory: ({ upstream }: ApiConfig) => new PagedReads(upstream ? PAGES_OF_GATEWAY : PAGES),
    },
  ],
  exports: [PagedReads],
})
export class PagedReadsModule {}
