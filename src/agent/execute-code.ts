import { EXECUTE_CODE } from '../parts/code-part.js';
import type { FunctionDeclaration } from './model.js';
import { prompt } from './prompt.js';

export function executeCodeDeclaration(): FunctionDeclaration {
  return {
    name: EXECUTE_CODE,
    description: prompt('execute-code'),
    parametersJsonSchema: {
      type: 'object',
      properties: { code: { type: 'string', description: 'Python source.' } },
      required: ['code'],
    },
  };
}
