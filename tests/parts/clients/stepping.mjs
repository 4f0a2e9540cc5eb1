// How the TypeScript test clients are told what to do; the same lines as in stepping.py.

import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

export const USER_SAYS = { action: 'accept', content: { answer: 'blue' } };
export const MODEL_SAYS = { role: 'assistant', content: { type: 'text', text: 'hello' }, model: 'test' };

// The command line that all test clients share; everything after --stdio is the server's.
export function readArguments() {
    const given = process.argv.slice(2);
    const stdio = given.indexOf('--stdio');
    const { values } = parseArgs({
        args: stdio < 0 ? given : given.slice(0, stdio),
        options: {
            http: { type: 'string' },
            sse: { type: 'string' },
            era: { type: 'string' },
            timeout: { type: 'string', default: '30' } // seconds that a call may take
        }
    });
    const command = stdio < 0 ? undefined : given.slice(stdio + 1);
    return { ...values, stdio: command, timeout: Number(values.timeout) * 1000 };
}

const say = (step, outcome) => process.stdout.write(JSON.stringify({ step, ...outcome }) + '\n');

function sayError(step, error) {
    const described = { code: error.code ?? null, message: error.message, type: error.constructor.name };
    say(step, { ok: false, error: { ...described, data: error.data ?? null } });
}

// Connects, carries out the steps until stdin ends, and disconnects.
export async function followSteps(connect) {
    let session;
    try {
        const { greeting, ...connected } = await connect();
        session = connected;
        say('connect', { ok: true, result: greeting });
    } catch (error) {
        sayError('connect', error);
        process.exit(0);
    }
    await readSteps(session);
    await session.close();
    process.exit(0);
}

async function readSteps(session) {
    const pending = [];
    let number = 0;
    for await (const line of createInterface({ input: process.stdin })) {
        const step = JSON.parse(line);
        const outcome = carryOut(session, number, step);
        number += 1;
        if (step.background) pending.push(outcome);
        else await outcome;
    }
    await Promise.all(pending);
}

async function carryOut(session, number, step) {
    try {
        const progress = ({ progress, total }) => say(number, { progress: [progress, total] });
        say(number, { ok: true, result: await session[step.do](step, progress) });
    } catch (error) {
        sayError(number, error);
    }
}
