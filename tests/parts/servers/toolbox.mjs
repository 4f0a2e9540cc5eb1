// What the tools of the TypeScript test servers do, whatever the SDK.
//
// Every call that reaches a tool is appended to the record before anything else happens.
// No tool touches the disk: files live in memory, commands and fetches are only claimed.

import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export const TOOLS = JSON.parse(readFileSync(new URL('tools.json', import.meta.url), 'utf8'));
export const ANSWER_SCHEMA = {
    type: 'object',
    properties: { answer: { type: 'string' } },
    required: ['answer']
};

// A failure that the caller shall see as a tool error.
export class ToolFailed extends Error {}

export class Toolbox {
    #record;
    #files = new Map();

    constructor(record) {
        this.#record = record;
    }

    // Runs a tool and returns its text. The caller has progress(done, total), askUser(question), askModel(prompt).
    async call(name, given, caller) {
        const args = given ?? {};
        this.#note(name, args);
        switch (name) {
            case 'read_file':
                return this.#files.get(args.path) ?? `contents of ${args.path}`;
            case 'write_file':
                this.#files.set(args.path, args.content);
                return `wrote ${args.path}`;
            case 'delete_file':
                this.#files.delete(args.path);
                return `deleted ${args.path}`;
            case 'fetch':
                return `fetched ${args.url}`;
            case 'run':
                return `ran ${args.command}`;
            case 'count_slowly':
                return count(args.steps, args.seconds, caller);
            case 'big_result':
                return 'x'.repeat(args.characters);
            case 'ask_user':
                return `the user said ${await caller.askUser(args.question)}`;
            case 'ask_model':
                return `the model said ${await caller.askModel(args.prompt)}`;
            case 'fail':
                throw new ToolFailed(args.message);
            default:
                throw new ToolFailed(`unknown tool ${name}`);
        }
    }

    #note(tool, args) {
        if (this.#record) appendFileSync(this.#record, JSON.stringify({ tool, arguments: args }) + '\n');
    }
}

async function count(steps, seconds, caller) {
    for (let step = 1; step <= steps; step += 1) {
        await caller.progress(step, steps);
        await sleep(seconds * 1000);
    }
    return `counted to ${steps}`;
}

export const asResult = text => ({ content: [{ type: 'text', text }] });

// The text that a caller's answer to a question or a prompt holds.
export const answerOf = result => result.content?.answer ?? result.content?.text ?? result.action;
