import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import ts from 'typescript';

/** Text of every file by its path from the root of the repository. */
export type SourceFiles = ReadonlyMap<string, string>;

export interface Import {
  /** The importing file. */
  from: string;
  /** A file of ours, a package's name without sub-path, or `node:…`. */
  to: string;
  typeOnly: boolean;
}

/** Files that are tracked or would be, by the ending of their path. */
export function trackedFiles(root: string, ...endings: string[]): SourceFiles {
  const list = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  const files = new Map<string, string>();
  for (const path of list.split('\0')) {
    if (path === '' || !endings.some((ending) => path.endsWith(ending))) continue;
    const text = readIfPresent(`${root}/${path}`);
    if (text !== undefined) files.set(path, text);
  }
  return files;
}

/** A tracked file may just have been deleted. */
function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export function importsOf(files: SourceFiles): Import[] {
  return [...files].flatMap(([from, text]) => {
    const imports: Import[] = [];
    const add = (specifier: ts.Expression | undefined, typeOnly: boolean): void => {
      if (specifier && ts.isStringLiteralLike(specifier))
        imports.push({ from, to: resolve(from, specifier.text), typeOnly });
    };
    const visit = (node: ts.Node): void => {
      if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, isTypeOnly(node.importClause));
      else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, isTypeOnly(node));
      else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
        add(node.arguments[0], false);
      else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
        add(node.argument.literal, true);
      ts.forEachChild(node, visit);
    };
    visit(parse(from, text));
    return imports;
  });
}

function isTypeOnly(clause: ts.ImportClause | ts.ExportDeclaration | undefined): boolean {
  if (clause === undefined) return false;
  if (ts.isExportDeclaration(clause)) return clause.isTypeOnly;
  return clause.phaseModifier === ts.SyntaxKind.TypeKeyword;
}

function resolve(from: string, specifier: string): string {
  if (specifier.startsWith('.'))
    return posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts');
  if (specifier.startsWith('node:')) return specifier;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Names a module exports, `type ` before those that are types only; `*` for an export of everything. */
export function exportsOf(path: string, text: string): string[] {
  return parse(path, text).statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement)) return reexports(statement);
    if (!ts.canHaveModifiers(statement)) return [];
    const isExported = ts
      .getModifiers(statement)
      ?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    return isExported === true ? declaredNames(statement) : [];
  });
}

function reexports(statement: ts.ExportDeclaration): string[] {
  const clause = statement.exportClause;
  if (clause === undefined || ts.isNamespaceExport(clause)) return ['*'];
  return clause.elements.map(({ isTypeOnly, name }) =>
    statement.isTypeOnly || isTypeOnly ? `type ${name.text}` : name.text,
  );
}

function declaredNames(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  if (ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement))
    return [`type ${statement.name.text}`];
  if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement))
    return [statement.name?.text ?? 'default'];
  return [];
}

/** Each circle of imports once, as the files along it. */
export function cyclesIn(imports: readonly Import[]): string[][] {
  const next = new Map<string, Set<string>>();
  for (const { from, to } of imports) next.set(from, (next.get(from) ?? new Set()).add(to));
  const cycles: string[][] = [];
  const done = new Set<string>();
  const walk = (file: string, trail: string[]): void => {
    const start = trail.indexOf(file);
    if (start >= 0) cycles.push(trail.slice(start));
    if (start >= 0 || done.has(file)) return;
    for (const target of next.get(file) ?? []) walk(target, [...trail, file]);
    done.add(file);
  };
  for (const file of next.keys()) walk(file, []);
  return cycles;
}

/** The texts of all string literals of a file. */
export function stringsIn(path: string, text: string): string[] {
  const strings: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) strings.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(parse(path, text));
  return strings;
}

function parse(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}
