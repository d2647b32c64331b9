import type { Manifest } from '../run-manifest.js';
import type { Comparison } from './comparison.js';
import type { Figures } from './figures.js';

/** What a report is made of, beside the records and transcripts themselves. */
export interface ReportSource {
  manifest: Manifest;
  figures: Figures;
  /** With another batch, where one is named. */
  comparison?: Comparison;
}
