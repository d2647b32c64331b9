import { mkdir } from 'node:fs/promises';

/** The folders of one runtime, as seen from outside or as its scripts see them. */
export interface RuntimeFolders {
  /** What Jupyter's contents API calls the root; holds `content`. */
  root: string;
  /** Where scripts start. */
  content: string;
  home: string;
  temporary: string;
  /** Sockets and connection files. */
  run: string;
}

export const isolatedFolders: RuntimeFolders = {
  root: '/',
  content: '/content',
  home: '/home/colab',
  temporary: '/tmp',
  run: '/run/colab-solver',
};

export async function makeRuntimeFolders(base: string): Promise<RuntimeFolders> {
  const folders = {
    root: `${base}/root`,
    content: `${base}/root/content`,
    home: `${base}/home`,
    temporary: `${base}/tmp`,
    run: `${base}/run`,
  };
  for (const path of Object.values(folders)) await mkdir(path, { recursive: true, mode: 0o700 });
  return folders;
}

export function socketPath(folders: RuntimeFolders): string {
  return `${folders.run}/jupyter.sock`;
}
