/** Lines with their line breaks, as nbformat keeps text in files. */
export type MultilineText = string[];

export type NotebookOutput =
  | { output_type: 'stream'; name: 'stdout' | 'stderr'; text: MultilineText }
  | { output_type: 'display_data'; data: MimeBundle; metadata: Record<string, unknown> }
  | {
      output_type: 'execute_result';
      execution_count: number;
      data: MimeBundle;
      metadata: Record<string, unknown>;
    }
  | { output_type: 'error'; ename: string; evalue: string; traceback: string[] };

export type MimeBundle = Record<string, unknown>;

export interface MarkdownCell {
  cell_type: 'markdown';
  id: string;
  metadata: Record<string, unknown>;
  source: MultilineText;
  /** MIME bundles by file name, shown by `![](attachment:name)`. */
  attachments?: Record<string, Record<string, string>>;
}

export interface CodeCell {
  cell_type: 'code';
  id: string;
  metadata: Record<string, unknown>;
  /** Null where the script never ran. */
  execution_count: number | null;
  source: MultilineText;
  outputs: NotebookOutput[];
}

export type NotebookCell = MarkdownCell | CodeCell;

/** A Jupyter notebook, nbformat 4.5, as it stands in an `.ipynb` file. */
export interface Notebook {
  nbformat: 4;
  nbformat_minor: 5;
  metadata: Record<string, unknown>;
  cells: NotebookCell[];
}

export function multiline(text: string): MultilineText {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
